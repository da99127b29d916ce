package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/plan"
	"nines.dev/nines/test/plans"
)

// TestWhatHasDiedIsMadeAnew: a node and a link that have died are replaced if the plan still has them, and
// removed if not; what is stopped stays so.
func TestWhatHasDiedIsMadeAnew(t *testing.T) {
	from := plans.Of(t, `
name: repair
topology:
  nodes:
    a: {}
    b: {app: {kind: reflect, backend: raw}}
    c: {}
  links:
    - {name: ab, endpoints: ["a:b", "b:a"]}
    - {name: ac, endpoints: ["a:c", "c:a"]}
`)
	without := *from
	without.Nodes, without.Links = from.Nodes[:2], from.Links[:1]
	without.Nodes = append([]plan.Node{}, without.Nodes...)
	without.Nodes[0].Interfaces = from.Nodes[0].Interfaces[:1]
	for _, c := range []struct {
		what    string
		to      *plan.Plan
		faults  []check.Fault
		stopped string
		want    Changes
	}{
		{"nothing", from, nil, "", Changes{}},
		{"a dead node", from, []check.Fault{{Remedy: check.RemakeNode, Target: "c"}}, "",
			Changes{ReplacedNodes: []string{"c"}, ReplacedLinks: []string{"ac"}}},
		{"a dead node that goes", &without, []check.Fault{{Remedy: check.RemakeNode, Target: "c"}, {Remedy: check.RemakeLink, Target: "ac"}}, "",
			Changes{RemovedNodes: []string{"c"}, RemovedLinks: []string{"ac"}}},
		{"a node that has ended", from, []check.Fault{{Remedy: check.RestartNode, Target: "b"}}, "",
			Changes{RestartedNodes: []string{"b"}}},
		{"a dead engine", from, []check.Fault{{Remedy: check.RestartApp, Target: "b"}}, "",
			Changes{RestartedApps: []string{"b"}}},
		{"a dead engine of a node that is stopped", from, []check.Fault{{Remedy: check.RestartApp, Target: "b"}}, "b", Changes{}},
		{"a lost address", from, []check.Fault{{Remedy: check.Reconfigure, Target: "a:b"}}, "",
			Changes{Reconfigured: []string{"a:b"}}},
		{"other host settings", from, []check.Fault{{Remedy: check.TuneAgain, Target: "repair"}}, "",
			Changes{Tuning: true}},
	} {
		got := Repair(from, c.to, c.faults, func(nodeName string) bool { return nodeName == c.stopped })
		if difference := cmp.Diff(c.want, got); difference != "" {
			t.Errorf("%s: %s", c.what, difference)
		}
	}
}
