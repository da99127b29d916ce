package plan

import (
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

// TestServicesHaveCPUsThatTheTrafficsEndsDoNotShare: where the host has enough, the services of a node on the path get
// one, and those that ask for their own get these; where it has not, the plan says so.
func TestServicesHaveCPUsThatTheTrafficsEndsDoNotShare(t *testing.T) {
	fwd, side := spec.Service{Name: "fwd", Run: []string{"fwd"}}, spec.Service{Name: "side", Run: []string{"side"}}
	own := fwd
	own.CPUs = 2
	for _, c := range []struct {
		name     string
		cores    int
		services map[string][]spec.Service
		gives    string
		notes    string
	}{
		{"one for all", 8, map[string][]spec.Service{"dut": {fwd, side}}, "one of its own, for its services", ""},
		{"two of its own", 8, map[string][]spec.Service{"dut": {own, side}}, "for service fwd alone", ""},
		{"beside the generator", 8, map[string][]spec.Service{"gen": {side}}, "", "the services of node gen may run on CPU"},
		{"too few", 1, map[string][]spec.Service{"dut": {fwd}}, "", "too few CPUs: the services of node dut may run on CPU 0 beside the traffic's end in node gen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := two()
			e.Topology.Nodes["dut"].App = &spec.App{Kind: spec.AppRoute}
			for name, services := range c.services {
				e.Topology.Nodes[name].Services = services
			}
			p := makePlan(t, e, smallHost(c.cores, 1))
			if why := strings.Join(p.Node("dut").Why, "\n"); !strings.Contains(why, c.gives) {
				t.Errorf("dut: %s", why)
			}
			if c.notes == "" && len(p.Shared) > 0 || !strings.Contains(strings.Join(p.Shared, "\n"), c.notes) || !strings.Contains(strings.Join(p.Notes, "\n"), c.notes) {
				t.Errorf("shared %q, notes %q", p.Shared, p.Notes)
			}
			given := p.Node("dut").ServiceCPUs
			if asked := c.services["dut"]; len(asked) > 0 && asked[0].CPUs == 2 {
				if len(given["fwd"]) != 2 || len(given["side"]) != 1 || len(p.Node("dut").CPUs) != 3 {
					t.Errorf("of %v they have %v", p.Node("dut").CPUs, given)
				}
			} else if given != nil {
				t.Errorf("they have %v", given)
			}
		})
	}
	e := two()
	e.Topology.Nodes["dut"].App, e.Topology.Nodes["dut"].CPUs = &spec.App{Kind: spec.AppRoute}, 2
	e.Topology.Nodes["dut"].Services = []spec.Service{own, side}
	if _, err := Make(e, smallHost(8, 1)); err == nil || !strings.Contains(err.Error(), "it has 2 CPUs, and its services and the rest of it need 3") {
		t.Errorf("too few in the node: %v", err)
	}
}

// TestARealTimeServiceOnASharedCPUIsNoted: nothing else may run there.
func TestARealTimeServiceOnASharedCPUIsNoted(t *testing.T) {
	for cores, want := range map[int]bool{1: true, 8: false} {
		e := two()
		e.Topology.Nodes["dut"].App = &spec.App{Kind: spec.AppRoute}
		e.Topology.Nodes["dut"].Services = []spec.Service{{Name: "fwd", Run: []string{"fwd"}, Scheduling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 5}}}
		notes := strings.Join(makePlan(t, e, smallHost(cores, 1)).Notes, "\n")
		if strings.Contains(notes, "service fwd of node dut is scheduled as fifo 5 on CPU 0") != want {
			t.Errorf("%d cores: %s", cores, notes)
		}
	}
}
