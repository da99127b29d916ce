package plan

import (
	"fmt"
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
		if p.Traffic.Stream.Wait != c.want || !strings.Contains(strings.Join(p.Notes, "\n"), "(wait: auto is "+string(c.want)+")") {
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

// TestWaitTogether lets all runs of a sweep sleep where one must, so that they differ by nothing else.
func TestWaitTogether(t *testing.T) {
	const file = `
name: lab
topology:
  nodes: {gen: {}, dut: {app: {kind: route}}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 1000}
sweep: {%s}
`
	for sweep, want := range map[string]spec.Wait{
		"nodes.gen.rx: [interrupt, awake]":            spec.WaitBlock,
		"traffic.rate_pps: [1000, 2000]":              spec.WaitAuto, // each is planned to poll
		"traffic.wait: [auto, spin]":                  spec.WaitAuto,
		"nodes.dut.app.kind: [route, forward, route]": spec.WaitBlock, // the forwarder has no CPU
	} {
		f, err := spec.Load("lab.yaml", fmt.Appendf(nil, file, sweep))
		if err != nil {
			t.Fatal(err)
		}
		runs, err := f.Runs()
		if err != nil {
			t.Fatal(err)
		}
		for i, run := range WaitTogether(runs, loadHost(t, "microvm")) {
			if got := run.Experiment.Traffic.Wait; i == 0 && got != want {
				t.Errorf("%s: run %d waits by %s, not %s", sweep, i+1, got, want)
			}
			if runs[i].Experiment.Traffic.Wait == spec.WaitBlock {
				t.Errorf("%s: the runs themselves have changed", sweep)
			}
		}
	}
}
