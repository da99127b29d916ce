package plan

import (
	"net/netip"
	"slices"
)

// seats are addresses of a subnet for interfaces of a link.
type seats struct {
	subnet netip.Prefix
	of     map[*endpoint]netip.Addr
	// crowded is an interface that has no room; nil: all have.
	crowded *endpoint
}

// lay finds addresses of a subnet for interfaces that have none: those of the running lab, and the first free ones for
// the others. Above that of the sender, the sources of its flows are left free.
func lay(order []*endpoint, subnet netip.Prefix, owner map[netip.Addr]*endpoint, f flowSources, before *kept) *seats {
	s := &seats{subnet: subnet, of: map[*endpoint]netip.Addr{}}
	taken := map[netip.Addr]bool{}
	free := func(a netip.Addr) bool { return owner[a] == nil && !taken[a] }
	room := func(a netip.Addr, more int) bool {
		for ; s.host(a) && free(a); a, more = a.Next(), more-1 {
			if more == 0 {
				return true
			}
		}
		return false
	}
	sources := func(e *endpoint) int { return f.more * boolToInt(e == f.sender) }
	take := func(e *endpoint, a netip.Addr) {
		s.of[e] = a
		for range sources(e) + 1 {
			taken[a] = true
			a = a.Next()
		}
	}
	for _, e := range order {
		if a := before.address(e, subnet); a.IsValid() && room(a, sources(e)) {
			take(e, a)
		}
	}
	next := s.first()
	for _, e := range order {
		if s.of[e].IsValid() {
			continue
		}
		for s.host(next) && !free(next) {
			next = next.Next()
		}
		a := next
		for s.host(a) && !room(a, sources(e)) {
			a = a.Next()
		}
		if !s.host(a) {
			s.crowded = e
			return s
		}
		take(e, a)
	}
	return s
}

// first is the first address that a host may have.
func (s *seats) first() netip.Addr {
	if s.whole() {
		return s.subnet.Addr()
	}
	return s.subnet.Addr().Next() // IPv6's first is for any router (RFC 4291, 2.6.1)
}

// whole is true for a subnet without an address of its own and one for broadcasts (RFC 3021, RFC 6164).
func (s *seats) whole() bool { return s.subnet.Bits() >= s.subnet.Addr().BitLen()-1 }

// host is true for an address that a host of the subnet may have.
func (s *seats) host(a netip.Addr) bool {
	return s.subnet.Contains(a) && !a.Less(s.first()) && (a.Is6() || s.whole() || a != lastAddress(s.subnet))
}

// settle gives the interfaces their addresses, those of IPv4 before others.
func (s *seats) settle(owner map[netip.Addr]*endpoint) {
	for e, a := range s.of {
		owner[a] = e
		at := len(e.addresses) * boolToInt(a.Is6())
		e.addresses = slices.Insert(e.addresses, at, netip.PrefixFrom(a, s.subnet.Bits()))
	}
}
