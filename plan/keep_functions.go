package plan

import "nines.dev/nines/spec"

// functionOf is the function that an interface has in the running lab, as a link of nines' making.
func (k *kept) functionOf(e *endpoint) Function {
	if k.of(e) == nil || e.link.kind.Descriptor().End != spec.EndFunction {
		return Function{}
	}
	_, end := k.EndOf(e.node.name, e.name)
	return end.Function
}

// keptVF is the virtual function of a port that an endpoint has in the running lab; -1 for none that it can keep.
func (w *work) keptVF(e *endpoint, c *card) int {
	f := w.before.functionOf(e)
	if f.Port != c.Address || f.Index >= c.vfCount() || c.given[f.Index] != nil || w.othersVF(c, f.Index) {
		return -1
	}
	return f.Index
}

// keepsVF is true for a virtual function that another endpoint of the lab has, and can keep.
func (w *work) keepsVF(c *card, index int) bool {
	for _, l := range w.links {
		for _, e := range l.endpoints {
			if e.function.Address == "" && w.keptVF(e, c) == index {
				return true
			}
		}
	}
	return false
}

// keptVLAN is the VLAN that nines gave a link in the running lab; 0: none.
func (w *work) keptVLAN(l *link) int {
	if l.kind.Descriptor().End != spec.EndFunction || l.sriov().VLAN != 0 {
		return 0
	}
	id := w.before.functionOf(l.endpoints[0]).VLAN
	if id < firstVLAN || id > lastVLAN {
		return 0
	}
	return id
}
