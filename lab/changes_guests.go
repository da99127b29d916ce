package lab

import (
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// guests replaces the virtual machines that any change affects: QEMU attaches to its links, and the
// guest is set up, only at the start. Replacing a machine also replaces links that cannot change a
// single endpoint, and these the machines at their other ends, until nothing is added.
func (d *differ) guests() {
	for more := true; more; {
		more = false
		for _, n := range d.to.Nodes {
			old := findNode(d.from, n.Name)
			if !n.Guest() || old == nil || d.renewed[n.Name] || !d.guestChanges(*old, n) {
				continue
			}
			d.Adjusted = slices.DeleteFunc(d.Adjusted, func(name string) bool { return name == n.Name })
			d.ReplacedNodes = append(d.ReplacedNodes, n.Name)
			d.renewed[n.Name] = true
			more = true
		}
	}
}

// guestChanges is true if a machine, or a link that it is on, changes.
func (d *differ) guestChanges(old, now plan.Node) bool {
	for _, n := range []*plan.Node{&old, &now} {
		n.App, n.Why, n.Exec, n.Restart, n.Healthcheck = nil, nil, nil, "", nil
	}
	if !same(old, now) {
		return true
	}
	for _, i := range now.Interfaces {
		was, is := findLink(d.from, i.Link), findLink(d.to, i.Link)
		if was == nil || is == nil || !same(unexplained(*was), unexplained(*is)) {
			return true
		}
		if link.Of(is.Kind).Incremental {
			continue
		}
		if slices.ContainsFunc(is.Endpoints, func(e plan.Endpoint) bool { return d.renewed[e.Node] }) {
			return true
		}
	}
	return false
}

// unexplained is a link without its reasons (Why).
func unexplained(l plan.Link) plan.Link {
	if l.Switch != nil {
		s := *l.Switch
		s.Why = nil
		l.Switch = &s
	}
	return l
}
