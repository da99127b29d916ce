package change

import (
	"slices"

	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// guests starts the virtual machines afresh that any change affects, as a guest is set up only at its
// start, and replaces those on whose links something changes: QEMU attaches to them. Replacing a machine
// also replaces links that cannot change a single endpoint, and these the machines at their other ends.
func (d *differ) guests() {
	changed := map[string]bool{} // links that QEMU has to attach to again
	for _, l := range d.to.Links {
		was := d.was.Link(l.Name)
		changed[l.Name] = was == nil || !plan.Same(unexplained(*was), unexplained(l))
	}
	replaced := map[string]bool{}
	waiting := slices.DeleteFunc(slices.Clone(d.to.Nodes), func(n plan.Node) bool { return !n.Guest() })
	for len(waiting) > 0 {
		n := waiting[0]
		waiting = waiting[1:]
		old := d.was.Node(n.Name)
		if old == nil || d.renewed[n.Name] {
			continue
		}
		differs := guestDiffers(d.movable(*old, n), n)
		switch {
		case d.guestsLinksChange(n, changed) || differs && !d.keepsNetwork(*old, n):
			replaced[n.Name] = true
			again := d.beside(n)
			d.replace(n)
			waiting = append(waiting, again...)
		case differs:
			d.fresh[n.Name] = true
		}
	}
	for name := range replaced {
		delete(d.fresh, name)
	}
	leaveOut(replaced, &d.Adjusted)
}

// beside are the machines that are replaced with one: those on links of it that cannot change a single endpoint. None
// are on a link that was touched before, as they were told then.
func (d *differ) beside(n plan.Node) []plan.Node {
	var list []plan.Node
	for _, i := range n.Interfaces {
		l := d.is.Link(i.Link)
		if l == nil || d.touched[i.Link] || link.Of(l.Kind).Incremental {
			continue
		}
		for _, e := range l.Endpoints {
			if other := d.is.Node(e.Node); other != nil && other.Guest() {
				list = append(list, *other)
			}
		}
	}
	return list
}

// guestDiffers is true if a machine itself changes.
func guestDiffers(old, now plan.Node) bool {
	for _, n := range []*plan.Node{&old, &now} {
		n.App, n.Why, n.Exec, n.Restart, n.Healthcheck = nil, nil, nil, "", nil
	}
	return !plan.Same(old, now)
}

// guestsLinksChange is true if a link that a machine is on changes.
func (d *differ) guestsLinksChange(now plan.Node, changed map[string]bool) bool {
	for _, i := range now.Interfaces {
		is := d.is.Link(i.Link)
		if is == nil || changed[i.Link] || d.touched[i.Link] && !link.Of(is.Kind).Incremental {
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
