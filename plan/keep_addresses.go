package plan

import "net/netip"

// address is an interface's address in the running lab that is of a subnet; zero without one.
func (k *kept) address(e *endpoint, subnet netip.Prefix) netip.Addr {
	i := k.of(e)
	if i == nil {
		return netip.Addr{}
	}
	for _, text := range i.Addresses {
		if p, err := netip.ParsePrefix(text); err == nil && subnet.Contains(p.Addr()) {
			return p.Addr()
		}
	}
	return netip.Addr{}
}

// subnet is the one of a range that nines assigns from which a link has in the running lab; zero without one.
func (k *kept) subnet(l *link, of netip.Prefix) netip.Prefix {
	for _, e := range l.endpoints {
		i := k.of(e)
		if i == nil {
			continue
		}
		for _, text := range i.Addresses {
			if p, err := netip.ParsePrefix(text); err == nil && of.Contains(p.Addr()) && p.Bits() > of.Bits() {
				return p.Masked()
			}
		}
	}
	return netip.Prefix{}
}

// keepSubnets lets the links whose addresses nines assigns have the subnets that they have in the running lab.
func (w *work) keepSubnets(slots map[uint32]bool) {
	for _, l := range w.links {
		if !l.addressed() || w.listedSubnet(l).IsValid() {
			continue
		}
		if subnet := w.before.subnet(l, labRange); subnet.IsValid() && subnet.Bits() <= slotBits && !anySlotOf(slots, subnet) {
			take(subnet, slots)
			l.subnet = subnet
		}
	}
}

// layKept finds addresses in a link's subnet of the running lab. Where that has no room, the subnet around it is taken:
// the interfaces keep their addresses, with a shorter prefix. It returns nil where neither is possible.
func (w *work) layKept(l *link, order []*endpoint, owner map[netip.Addr]*endpoint, slots map[uint32]bool) *seats {
	kept := l.subnet
	for subnet := kept; subnet.IsValid() && subnet.Bits() >= labRange.Bits(); subnet = netip.PrefixFrom(subnet.Addr(), subnet.Bits()-1).Masked() {
		if subnet != kept && anySlotBeside(slots, kept, subnet) {
			return nil
		}
		if s := lay(order, subnet, owner, w.flowSources(l), w.before); s.crowded == nil {
			take(subnet, slots)
			return s
		}
	}
	return nil
}

// anySlotOf is true if a /30 of a subnet is taken.
func anySlotOf(slots map[uint32]bool, subnet netip.Prefix) bool {
	return anySlotBeside(slots, netip.Prefix{}, subnet)
}

// anySlotBeside is true if a /30 of a subnet is taken that is not in another one.
func anySlotBeside(slots map[uint32]bool, other, subnet netip.Prefix) bool {
	own := map[uint32]bool{}
	if other.IsValid() {
		take(other, own)
	}
	all := map[uint32]bool{}
	take(subnet, all)
	for slot := range all {
		if slots[slot] && !own[slot] {
			return true
		}
	}
	return false
}
