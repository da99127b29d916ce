package change

import (
	"slices"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// received finds nodes that stay but get another receive mode, or whose devices, or those at the
// other ends of their links, are rebuilt or set up again, which resets the settings on them.
func (d *differ) received() {
	for _, n := range d.to.Nodes {
		old := d.from.Node(n.Name)
		if old == nil || d.begins(n.Name) {
			continue
		}
		changed := !plan.Same(receiveModesOf(*old), receiveModesOf(n))
		if old.Receive != nil || n.Receive != nil {
			changed = changed || d.disturbs(n)
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
func (d *differ) disturbs(n plan.Node) bool {
	if d.to.Isolation == spec.IsolationIsolated && len(d.AddedNodes)+len(d.ReplacedNodes)+len(d.FreshNodes) > 0 {
		return true
	}
	for _, l := range d.to.Links {
		mine := slices.ContainsFunc(l.Endpoints, func(e plan.Endpoint) bool { return e.Node == n.Name })
		anew := slices.ContainsFunc(l.Endpoints, func(e plan.Endpoint) bool {
			return d.renewed[e.Node] || d.renewed[e.Name()] || slices.Contains(d.Reconfigured, e.Name())
		})
		if mine && anew {
			return true
		}
	}
	return false
}
