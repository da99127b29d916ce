package measure

import (
	"fmt"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestALinkFailureIsAsLongAsTheFileSays counts the packets that are lost while a link is down for 200 ms: at
// 1000 packets a second each stands for a millisecond, and so many are lost, to 10.
//
//	a:eth ──▸ down from 500 to 700 ms ──▸ b:eth
//
// A host that takes the CPU away makes the cut late and packets, too; both are in the trial's record, and
// the test asks for less by so much. What else a host may do, it does not do in each of five trials.
func TestALinkFailureIsAsLongAsTheFileSays(t *testing.T) {
	labtest.QuietCore(t)
	labtest.Experiment(t)
	const (
		network = `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", backend: %s, rate_pps: 1000, duration: 1200ms, warmup: 200ms, drain: 1s, outliers: 10, packets: record}
events: [{at: 500ms, link: wire, down: 200ms}]
`
		asked, exact = 200 * time.Millisecond, 10 * time.Millisecond
	)
	for _, test := range []struct{ kind, backend string }{{"switch", "udp"}, {"bridge", "udp"}, {"veth", "udp"}, {"veth", "raw"}} {
		t.Run(test.kind+"/"+test.backend, func(t *testing.T) {
			var noisy, wrong int
			for range 5 {
				experiment, writer := prepare(t, "length", fmt.Sprintf(network, test.kind, test.backend))
				lost, late := failure(t, finish(t, experiment, writer))
				off := max(lost-asked, asked-lost)
				t.Logf("down for %v; the host was late by %v", lost, late)
				switch {
				case off <= exact:
					return
				case off <= exact+late:
					noisy++
				default:
					wrong++
				}
			}
			if wrong > noisy {
				t.Errorf("the link was never down for %v to %v, and the host tells why in %d of %d trials only", asked, exact, noisy, noisy+wrong)
			}
		})
	}
}

// failure is how long a link that failed passed nothing, by what was lost of a thousand packets a second,
// and how late the host made the failure's ends and packets.
func failure(t *testing.T, done *result.Result) (lost, late time.Duration) {
	t.Helper()
	trial := done.Summary.Trials[0]
	folder := done.TrialFolder(trial.ID)
	details, err := folder.Details()
	if err != nil {
		t.Fatal(err)
	}
	if len(details.Events) != 1 || details.Events[0].Problem != "" {
		t.Fatalf("the record has the events %+v", details.Events)
	}
	e := details.Events[0]
	var slowest int64
	_, err = folder.Packets(func(rows []result.Packet) error {
		for _, p := range rows {
			slowest = max(slowest, p.TxNs-p.IntendedNs)
			if p.RxNs == nil {
				lost += time.Millisecond
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lost, time.Duration(max(e.BeganNs-e.AtNs, 0) + max(e.EndedNs-e.AtNs-e.LengthNs, 0) + slowest)
}
