package measure

import (
	"slices"
	"testing"
	"time"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestAnImpairedLinkIsTheCauseOfItsPackets: each of them was held by the link for the link's delay, by
// what is explained.
//
//	a:eth ──impaired on the way to b── b:eth
func TestAnImpairedLinkIsTheCauseOfItsPackets(t *testing.T) {
	labtest.Experiment(t)
	const delay = 100 * time.Millisecond
	folder, causes := withEvents(t, `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: switch, endpoints: ["a:eth", "b:eth"], impair_from: {"a:eth": {delay: 100ms}}}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 500, duration: 1s, warmup: 200ms, drain: 3s, outliers: 20}
trace: true
`)
	details, err := folder.Details()
	if err != nil || details.Trace == nil || len(details.Impairments) != 1 {
		t.Fatalf("%v: %+v", err, details)
	}
	if holds := details.Impairments[0].Holds; holds == nil || holds.LeastNs != int64(delay) || holds.MostNs != int64(delay) {
		t.Errorf("the link holds a packet for %+v", holds)
	}
	recorded := 0
	for _, p := range causes.Packets {
		if !p.Recorded {
			continue
		}
		recorded++
		var held, all int64
		for _, share := range attribution.Totals(p) {
			all += share.Ns
			if share.Cause.Kind == attribution.Impaired {
				held += share.Ns
			}
		}
		if held != int64(delay) || all > p.LatencyNs {
			t.Errorf("packet %d was held for %d ns by the link, of %d, and all causes took %d", p.ID, held, p.LatencyNs, all)
		}
	}
	if recorded == 0 {
		t.Errorf("of no packet the events were kept: %q, %q", causes.Notes, details.Notes)
	}
	for _, ranked := range causes.Ranking {
		if ranked.Cause.Kind == attribution.Impaired {
			if ranked.Present != recorded || ranked.Cause.Name != "wire" || ranked.Cause.Source != "delay 100ms" {
				t.Errorf("it is ranked as %+v of %d", ranked, recorded)
			}
			return
		}
	}
	t.Errorf("it is no cause in %+v", causes.Ranking)
}

// withEvents traces an experiment of one trial, and again where a busy host made the recorder lose the events of
// all packets.
func withEvents(t *testing.T, text string) (result.Folder, *result.Causes) {
	t.Helper()
	for try := 1; ; try++ {
		experiment, writer := prepare(t, "traced-delay", text)
		done := finish(t, experiment, writer)
		folder := done.TrialFolder(done.Summary.Trials[0].ID)
		causes, err := folder.Causes()
		if err != nil || causes == nil {
			t.Fatal(err)
		}
		if try == 10 || slices.ContainsFunc(causes.Packets, func(p result.PacketCauses) bool { return p.Recorded }) {
			return folder, causes
		}
		t.Logf("no packet has its events, so again: %q", causes.Notes)
	}
}
