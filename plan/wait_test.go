package plan

import (
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

// TestWaitAuto polls only where no engine shares its CPU: the microVM has two CPUs, and keeps one of them for
// housekeeping.
func TestWaitAuto(t *testing.T) {
	one := two()
	one.Topology.Nodes["dut"].App = nil
	one.Topology.Links = []*spec.Link{{Endpoints: []string{"gen:tx", "gen:rx"}}}
	delete(one.Topology.Nodes, "dut")
	for name, c := range map[string]struct {
		exp  *spec.Experiment
		want spec.Wait
	}{
		"one engine":                  {one, spec.WaitSpin},
		"a generator and a forwarder": {two(), spec.WaitBlock},
	} {
		c.exp.Traffic.Wait = spec.WaitAuto
		p := planned(t, c.exp)
		if p.Traffic.Stream.Wait != c.want || !strings.Contains(strings.Join(p.Notes, "\n"), "wait: auto is "+string(c.want)) {
			t.Errorf("%s: %s, %q", name, p.Traffic.Stream.Wait, p.Notes)
		}
		if c.exp.Traffic.Wait != spec.WaitAuto {
			t.Errorf("%s: the experiment has changed", name)
		}
		for _, n := range p.Nodes {
			if n.App != nil && n.App.Wait != c.want {
				t.Errorf("%s: the app of %s waits by %s", name, n.Name, n.App.Wait)
			}
		}
	}
}
