package change

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/plans"
)

// TestChangesOfMachines: a guest is set up once, so any change of it boots it again, and one on its links
// rebuilds it.
func TestChangesOfMachines(t *testing.T) {
	const text = `
name: tbvmchange
topology:
  nodes:
    a: {}
    b: {runtime: vm}
    c: {}
    d: {runtime: vm}
  links:
    - {name: ab, kind: veth, endpoints: ["a:b", "b:a"]}
    - {name: bd, kind: xdp, endpoints: ["b:d", "d:b"]}
    - {name: lan, kind: bridge, endpoints: ["a:lan", "c:lan", "d:lan"]}
`
	before := plans.Of(t, text)
	for _, change := range []struct{ old, new, replaced, fresh string }{
		{`a: {}`, `a: {}`, "", ""},
		{`c: {}`, `c: {memory: 64MiB}`, "", "c"},
		{`d: {runtime: vm}`, `d: {runtime: vm, memory: 1GiB}`, "", "d"},
		{`d: {runtime: vm}`, `d: {runtime: netns}`, "b d", ""},
		{`a: {}`, `a: {memory: 64MiB}`, "", "a"},
		{`a: {}`, `a: {runtime: host}`, "a b d", ""},
		{`kind: veth`, `kind: bridge`, "b d", ""},
		{`kind: bridge, endpoints`, `kind: bridge, mtu: 9000, endpoints`, "b d", ""},
	} {
		changes := Compare(before, plans.Of(t, strings.Replace(text, change.old, change.new, 1)))
		slices.Sort(changes.ReplacedNodes)
		if got := strings.Join(changes.ReplacedNodes, " "); got != change.replaced {
			t.Errorf("%s: replaces %q, not %q", change.new, got, change.replaced)
		}
		if got := strings.Join(changes.FreshNodes, " "); got != change.fresh {
			t.Errorf("%s: %q start afresh, not %q", change.new, got, change.fresh)
		}
	}
}
