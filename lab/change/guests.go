package change

import (
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// guests starts the virtual machines afresh that any change affects, as a guest is set up only at its
// start, and replaces those on whose links something changes: QEMU attaches to them. Replacing a machine
// also replaces links that cannot change a single endpoint, and these the machines at their other ends,
// until nothing is added.
func (d *differ) guests() {
	for more := true; more; {
		more = false
		for _, n := range d.to.Nodes {
			old := d.from.Node(n.Name)
			if !n.Guest() || old == nil || d.renewed[n.Name] {
				continue
			}
			differs := guestDiffers(*old, n)
			switch {
			case d.guestsLinksChange(n) || differs && !d.keepsNetwork(*old, n):
				d.FreshNodes = slices.DeleteFunc(d.FreshNodes, func(name string) bool { return name == n.Name })
				d.Adjusted = slices.DeleteFunc(d.Adjusted, func(name string) bool { return name == n.Name })
				d.replace(n.Name)
				more = true
			case differs:
				include(&d.FreshNodes, n.Name, true)
			}
		}
	}
}

// guestDiffers is true if a machine itself changes.
func guestDiffers(old, now plan.Node) bool {
	for _, n := range []*plan.Node{&old, &now} {
		n.App, n.Why, n.Exec, n.Restart, n.Healthcheck = nil, nil, nil, "", nil
	}
	return !plan.Same(old, now)
}

// guestsLinksChange is true if a link that a machine is on changes.
func (d *differ) guestsLinksChange(now plan.Node) bool {
	for _, i := range now.Interfaces {
		was, is := d.from.Link(i.Link), d.to.Link(i.Link)
		if was == nil || is == nil || !plan.Same(unexplained(*was), unexplained(*is)) {
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
