package change

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/test/plans"
)

// TestOnlyTheServicesThatDifferStartAgain: what changes of the services of a node b, and whether it is programs alone.
// It is pure.
func TestOnlyTheServicesThatDifferStartAgain(t *testing.T) {
	const text = `
name: tbserved
isolation: none
topology:
  nodes:
    a: {}
    b: {NODE}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 1000}
`
	const two = "services: [{name: fwd, run: [fwd]}, {name: side, run: [side]}]"
	for _, c := range []struct {
		to       string
		restarts []string
		programs bool
	}{
		{two, nil, false},
		{"services: [{name: fwd, run: [fwd, -v]}, {name: side, run: [side]}]", []string{"b:fwd"}, true},
		{"services: [{name: fwd, run: [fwd], user: web}, {name: side, run: [side]}]", []string{"b:fwd"}, true},
		{"services: [{name: side, run: [side]}]", []string{"b:fwd"}, true},
		{"services: [{name: fwd, run: [fwd]}, {name: side, run: [side]}, {name: new, run: [new]}]", []string{"b:new"}, true},
		{"env: {A: b}, " + two, []string{"b:fwd", "b:side"}, false},
		{"mounts: [{source: /srv, target: /mnt}], " + two, nil, true}, // they start with their node
		{"restart: always, " + two, nil, false},
	} {
		of := func(node string) *plan.Plan { return plans.Of(t, strings.Replace(text, "NODE", node, 1)) }
		got := Compare(of(two), of(c.to))
		slices.Sort(got.RestartedServices)
		if !slices.Equal(got.RestartedServices, c.restarts) || got.OfPrograms() != c.programs {
			t.Errorf("to %q: %q, of programs alone: %v; all changes: %+v", c.to, got.RestartedServices, got.OfPrograms(), got)
		}
	}
	// Services know the traffic's ends.
	there, back := plans.Of(t, strings.Replace(text, "NODE", two, 1)), plans.Of(t, strings.Replace(strings.Replace(text, "NODE", two, 1), `from: "a:eth", to: "b:eth"`, `from: "b:eth", to: "a:eth"`, 1))
	if got := Compare(there, back); len(got.RestartedServices) != 2 {
		t.Errorf("with traffic the other way: %q", got.RestartedServices)
	}
}
