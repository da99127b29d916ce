package killed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// Links that fail in the middle of a trial, as devices of the kernel, in the switch and at the ends in
// the nodes, and a node that is restarted in it:
//
//	a:k ──xdp── b:k      a:s ──switch── b:s      a:v ──veth── c:v
const failingLab = `
name: tbcrashcut
topology:
  nodes: {a: {}, b: {}, c: {}}
  links:
    - {name: k, kind: xdp, endpoints: ["a:k", "b:k"]}
    - {name: s, kind: switch, endpoints: ["a:s", "b:s"]}
    - {name: v, kind: veth, endpoints: ["a:v", "c:v"]}
traffic: {from: "a:k", to: "b:k", rate_pps: 100, warmup: 0s, duration: 300ms, drain: 100ms}
events:
  - {at: 50ms, link: k, down: 50ms}
  - {at: 110ms, link: s, down: 50ms}
  - {at: 170ms, link: v, down: 50ms}
`

// TestNothingIsLeftOfARunThatWasKilledWhileALinkWasDown kills a run while each of the links is down, and
// in the long form at each moment of a cut: before and after the journal has it, and while it is undone.
func TestNothingIsLeftOfARunThatWasKilledWhileALinkWasDown(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	c := New(t, failingLab, failingLab)
	before := traces.Sysctls(t)
	run := []string{"run", c.Whole, "--out", t.TempDir()}
	points, said := c.points(run)
	c.Gone("run that nobody killed, " + said)
	const whileDown = "link down"
	tried := map[string]int{}
	for i, point := range points {
		moment, kind, _ := strings.Cut(point, "\t")
		if kind != "cut" || moment != whileDown && (tried[moment] > 0 || !labtest.Long()) {
			continue
		}
		tried[moment]++
		killed, said := c.Run(i+1, run...)
		if !killed {
			t.Errorf("the run was not killed %s: %s", moment, said)
		}
		c.Run(0, "down", "tbcrashcut")
		c.Gone("run killed " + moment + ", " + said)
	}
	if tried[whileDown] != 3 {
		t.Errorf("three links fail, and the runs were killed %v times", tried)
	}
	traces.SameSysctls(t, before)
}

// A node that is restarted in the middle of a trial:
//
//	a:in ──bridge── b, forwards ──bridge── c:out
const restartingLab = `
name: tbcrashevent
topology:
  nodes: {a: {}, b: {app: {kind: forward}}, c: {}}
  links:
    - {name: in, kind: bridge, endpoints: ["a:in", "b:in"]}
    - {name: out, kind: bridge, endpoints: ["b:out", "c:out"]}
traffic: {from: "a:in", to: "c:out", rate_pps: 100, warmup: 0s, duration: 2s, drain: 100ms}
events: [{at: 50ms, node: b, restart: true}]
`

// TestNothingIsLeftOfARunThatWasKilledInARestartOfItsEvents kills a run at one of each kind of step of that
// restart, and in the long form at every step.
func TestNothingIsLeftOfARunThatWasKilledInARestartOfItsEvents(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	c := New(t, restartingLab, restartingLab)
	before := traces.Sysctls(t)
	run := []string{"run", c.Whole, "--out", t.TempDir()}
	points, said := c.points(run)
	c.Gone("run that nobody killed, " + said)
	from, to := slices.Index(points, "event begins\trestart"), slices.Index(points, "event ends\trestart")
	if from < 0 || to < from {
		t.Fatalf("the run has no restart of its events among its points:\n%s", strings.Join(points, "\n"))
	}
	of := points[from : to+1]
	at := labtest.KillPoints(of, map[string]bool{})
	if labtest.Long() {
		at = nil
		for n := range of {
			at = append(at, n+1)
		}
	}
	t.Logf("%d of %d points", len(at), len(of))
	for _, n := range at {
		killed, said := c.Run(from+n, run...)
		if !killed {
			t.Errorf("the run was not killed at %q: %s", of[n-1], said)
		}
		c.Run(0, "down", "tbcrashevent")
		c.Gone(fmt.Sprintf("run killed at %q, %s", of[n-1], said))
	}
	traces.SameSysctls(t, before)
}
