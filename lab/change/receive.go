package change

import (
	"slices"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// received finds nodes that stay but get another receive mode, or whose devices, or those at the
// other ends of their links, are rebuilt or set up again, which resets the settings on them.
func (d *differ) received() {
	anew := d.linksAnew()
	for _, n := range d.to.Nodes {
		old := d.was.Node(n.Name)
		if old == nil || d.begins(n.Name) {
			continue
		}
		changed := !plan.Same(receiveModesOf(*old), receiveModesOf(n))
		if old.Receive != nil || n.Receive != nil {
			changed = changed || d.disturbs(n, anew)
		}
		if changed {
			d.Received = append(d.Received, n.Name)
		}
	}
}

// receiveModesOf are the receive modes of a node's interfaces, with their settings.
func receiveModesOf(n plan.Node) any {
	ways := map[string]spec.Receive{}
	for _, i := range n.Interfaces {
		if i.RX != "" {
			ways[i.Name] = i.RX
		}
	}
	return struct {
		Receive *plan.Receive
		Ways    map[string]spec.Receive
	}{n.Receive, ways}
}

// disturbs is true if the changes so far affect how a node receives: its links' devices, or the
// affinity of kernel threads, which isolation sets when nodes start.
func (d *differ) disturbs(n plan.Node, anew map[string]bool) bool {
	if d.to.Isolation == spec.IsolationIsolated && len(d.AddedNodes)+len(d.ReplacedNodes)+len(d.FreshNodes) > 0 {
		return true
	}
	return slices.ContainsFunc(n.Interfaces, func(i plan.Interface) bool { return anew[i.Link] })
}

// linksAnew are the links with an end that is rebuilt or set up again.
func (d *differ) linksAnew() map[string]bool {
	reconfigured, anew := Set(d.Reconfigured), map[string]bool{}
	for _, l := range d.to.Links {
		anew[l.Name] = slices.ContainsFunc(l.Endpoints, func(e plan.Endpoint) bool {
			return d.renewed[e.Node] || d.renewed[e.Name()] || reconfigured[e.Name()]
		})
	}
	return anew
}
