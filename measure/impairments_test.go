package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

func TestWhatImpairmentsDidSince(t *testing.T) {
	p := &plan.Plan{Links: []plan.Link{{Name: "wire", Impairments: []plan.Impairment{{From: "a:eth", By: spec.ImpairByProgram}}}}}
	stats := func(s client.ImpairStats) programs {
		return programs{impaired: map[string]client.ImpairStats{"wire/a:eth": s}}
	}
	before := stats(client.ImpairStats{Packets: 10, Lost: 1, Given: 9})
	for _, c := range []struct {
		name string
		now  client.ImpairStats
		want result.ImpairmentCounts
	}{
		{"some wait", client.ImpairStats{Packets: 110, Lost: 6, Corrupted: 3, Reordered: 2, Duplicated: 4, Refused: 20, Given: 70},
			result.ImpairmentCounts{First: 10, Packets: 100, Lost: 5, Corrupted: 3, Reordered: 2, Duplicated: 4, Refused: 20, Waiting: 18}},
		{"more left while the counters were read", client.ImpairStats{Packets: 20, Lost: 1, Given: 21},
			result.ImpairmentCounts{First: 10, Packets: 10}},
		{"more was lost while the counters were read", client.ImpairStats{Packets: 20, Lost: 22},
			result.ImpairmentCounts{First: 10, Packets: 10, Lost: 21}},
	} {
		got := stats(c.now).impairmentsSince(before, p, 64)
		if len(got) != 1 || got[0].Done == nil {
			t.Fatalf("%s: %+v", c.name, got)
		}
		if diff := cmp.Diff(c.want, *got[0].Done); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestHowLongALinkHoldsTheStream: only where the stream passes.
func TestHowLongALinkHoldsTheStream(t *testing.T) {
	delay := spec.Impairment{Delay: spec.Duration(5e6), Jitter: spec.Duration(1e6), Distribution: spec.DistributionUniform}
	rate := spec.Impairment{Rate: 1e6, Limit: 10}
	both := []plan.Impairment{{From: "a:eth", Impairment: delay}, {From: "b:eth", Impairment: rate}}
	p := &plan.Plan{
		Links: []plan.Link{
			{Name: "wire", Endpoints: []plan.Endpoint{{Node: "a", Interface: "eth"}, {Node: "b", Interface: "eth"}}, Impairments: both},
			{Name: "aside", Endpoints: []plan.Endpoint{{Node: "a", Interface: "x"}, {Node: "b", Interface: "x"}}, Impairments: []plan.Impairment{{From: "a:x", Impairment: delay}}},
		},
		Traffic: &plan.Traffic{Path: []string{"a:eth", "b:eth"}},
	}
	there, back := &result.Hold{LeastNs: 4e6, MostNs: 6e6}, &result.Hold{MostNs: 8e6} // 10 frames of 100 bytes at 1 Mbit/s
	for _, c := range []struct {
		path []string
		want []*result.Hold
	}{
		{[]string{"a:eth", "b:eth"}, []*result.Hold{there, nil, nil}},
		{[]string{"a:eth", "b:eth", "a:eth"}, []*result.Hold{there, back, nil}},
	} {
		p.Traffic.Path = c.path
		var got []*result.Hold
		for _, one := range (programs{}).impairmentsSince(programs{}, p, 100) {
			got = append(got, one.Holds)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.path, diff)
		}
	}
}

// TestWhatTheRateDoesNotTakeIsRefused sends two and a half times of what the rate lets pass: the trial
// loses what found the queue full, and nothing else, as all that waits arrives before it ends.
func TestWhatTheRateDoesNotTakeIsRefused(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "rated", `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: switch, endpoints: ["a:eth", "b:eth"], impair_from: {"a:eth": {rate: 200kbit/s, limit: 100}}}]
traffic: {from: "a:eth", to: "b:eth", backend: udp, rate_pps: 1000, duration: 1s, warmup: 0s, drain: 5s}
`)
	done := finish(t, experiment, writer)
	trial := done.Summary.Trials[0]
	details, err := done.TrialFolder(trial.ID).Details()
	if err != nil {
		t.Fatal(err)
	}
	if len(details.Impairments) != 1 || details.Impairments[0].Done == nil {
		t.Fatalf("the record says of the impairment: %+v", details.Impairments)
	}
	counts := *details.Impairments[0].Done
	if counts.Packets != trial.TxPackets || counts.Refused == 0 || counts.Refused != trial.LostPackets || counts.Waiting != 0 {
		t.Errorf("of %d packets the trial lost %d, and the switch counts %+v", trial.TxPackets, trial.LostPackets, counts)
	}
}
