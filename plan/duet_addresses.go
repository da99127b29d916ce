package plan

import (
	"fmt"
	"strings"

	"nines.dev/nines/spec"
)

// onTwoSides is true for nodes of different sides of a duet, whose networks have nothing to do with each other.
func onTwoSides(one, other *node) bool {
	_, side := spec.SideOf(one.name)
	_, otherSide := spec.SideOf(other.name)
	return side != "" && otherSide != "" && side != otherSide
}

// mostReplaced is how many interfaces a sentence names.
const mostReplaced = 4

// replaced says which of the file's addresses side b of a duet does not have, and what it has.
func (w *work) replaced() []string {
	var all []string
	say := func(reason string, list []spec.Replaced, now func(*endpoint) string) {
		var ends []string
		for _, r := range list {
			name, iface, _ := strings.Cut(r.Endpoint, ":")
			if n := w.byName[name]; n != nil && n.endpointOf(iface) != nil {
				ends = append(ends, fmt.Sprintf("%s has %s, not %s", r.Endpoint, now(n.endpointOf(iface)), strings.Join(r.Values, " ")))
			}
		}
		if more := len(ends) - mostReplaced; more > 0 {
			ends = append(ends[:mostReplaced], fmt.Sprintf("and %d others", more))
		}
		if len(ends) > 0 {
			all = append(all, reason+": "+strings.Join(ends, "; "))
		}
	}
	say("side b has other addresses than the file's where a node has interfaces of both sides, as it can have a network only once",
		w.exp.Duet.Replaced, func(e *endpoint) string { return strings.Join(e.cidrs(), " ") })
	say("side b has other MAC addresses than the file's in nodes with interfaces of both sides, and on networks of the host",
		w.exp.Duet.ReplacedMACs, func(e *endpoint) string { return e.mac })
	return all
}
