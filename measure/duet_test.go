package measure

import (
	"context"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// duetNetwork has both sides in one lab, on a host of two CPUs as on any:
//
//	          ┌─ tx@a ──in@a── dut@a ──out@a── rx@a ─┐
//	gen ──────┤                                      ├────── gen
//	          └─ tx@b ──in@b── dut@b ──out@b── rx@b ─┘
const duetNetwork = `
topology:
  nodes:
    gen: {}
    dut: {app: {kind: forward}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 500, warmup: 50ms, drain: 3s, outliers: 10}
duet: {a: {links.*.kind: veth}, b: {links.*.kind: bridge, nodes.dut.app.io: mmsg}, for: 1200ms}
`

// TestADuetIsMeasured: packets of both sides come by their own paths, and the result says what stood side by side.
func TestADuetIsMeasured(t *testing.T) {
	labtest.Experiment(t)
	t.Run("one forwarder", func(t *testing.T) {
		duetIsMeasured(t, "links.*.kind=bridge", "dut", "dut", "duet.b={links.*.kind: bridge}")
	})
	t.Run("a forwarder each", func(t *testing.T) {
		duetIsMeasured(t, "links.*.kind=bridge, nodes.dut.app.io=mmsg", "dut@a", "dut@b")
	})
}

func duetIsMeasured(t *testing.T, settings, onA, onB string, sets ...string) {
	var trial *result.Trial
	for range 5 { // a busy host may take the CPU for more than a valid trial allows
		experiment, writer := prepare(t, "duet", duetNetwork, sets...)
		if err := measureAll(context.Background(), experiment, writer, silent{}); err != nil {
			t.Fatal(err)
		}
		trials := writer.Summary().Trials
		if len(trials) != 1 {
			t.Fatalf("%d trials, want one without a baseline", len(trials))
		}
		if trial = &trials[0]; trial.Verdict != result.Invalid {
			break
		}
	}
	if len(trial.Streams) != 2 || trial.Streams[0].Name != "a" || trial.Streams[1].Name != "b" {
		t.Fatalf("streams %+v", trial.Streams)
	}
	for _, s := range trial.Streams {
		if s.TxPackets == 0 || s.RxPackets == 0 || s.Latency.P50 == nil {
			t.Errorf("side %s: %+v", s.Name, s)
		}
	}
	d := trial.Duet
	if d == nil || len(d.Sides) != 2 || d.Sides[1].Settings != settings || len(d.Beside) == 0 {
		t.Fatalf("%+v", d)
	}
	if d.Open != "" || d.Looks == 0 || len(d.Comparisons) == 0 || !d.Comparisons[0].Asked {
		t.Errorf("nothing was compared: %+v", d)
	}
	for _, way := range trial.SeenPath.Ways {
		if way.Words != "relayed by "+onA && way.Words != "relayed by "+onB {
			t.Errorf("the path %q", way.Words)
		}
	}
}

func TestBesideSaysHowBothRan(t *testing.T) {
	asleep := beside(&plan.Duet{Forwarding: plan.ForwardingAsleep, Differs: []string{"side b has a switch"}})
	if len(asleep) != 4 || !strings.Contains(asleep[2], "include a wake-up") || asleep[3] != "Besides, side b has a switch" {
		t.Errorf("%q", asleep)
	}
}
