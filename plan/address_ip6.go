package plan

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
)

// labRange6 is reserved for benchmarks by RFC 5180, 8, as labRange is.
var labRange6 = netip.MustParsePrefix("2001:2::/48")

// bits6 is the prefix length of a link's IPv6 subnet (RFC 4291, 2.5.4).
const bits6 = 64

// ip6 is true where the traffic is of IPv6.
func (w *work) ip6() bool { return w.stream != nil && w.stream.IP == 6 }

// assignIPv6 gives each interface on the traffic's path an IPv6 address, unless the file says which it has.
func (w *work) assignIPv6(owner map[netip.Addr]*endpoint) error {
	used := map[netip.Prefix]bool{}
	for a := range owner {
		if a.Is6() {
			used[netip.PrefixFrom(a, bits6).Masked()] = true
		}
	}
	kept := map[*link]netip.Prefix{}
	for _, l := range w.links {
		if subnet := w.before.subnet(l, labRange6); subnet.IsValid() && !used[subnet] {
			kept[l], used[subnet] = subnet, true
		}
	}
	for _, l := range w.links {
		if l.addressed() && w.onPath(l) {
			if err := w.addressLink6(l, owner, kept[l], used); err != nil {
				return err
			}
		}
	}
	return nil
}

// addressLink6 assigns the IPv6 addresses of one link, in the subnet of those that the file lists, else in that of the
// running lab.
func (w *work) addressLink6(l *link, owner map[netip.Addr]*endpoint, kept netip.Prefix, used map[netip.Prefix]bool) error {
	var subnet netip.Prefix
	for _, e := range l.endpoints {
		if at := e.global6(); at >= 0 && !subnet.IsValid() {
			subnet = e.addresses[at].Masked()
		}
	}
	sources := flowSources{}
	if !subnet.IsValid() {
		subnet, sources = kept, w.flowSources(l)
	}
	if !subnet.IsValid() {
		subnet = freeSubnet6(w.prefix, l.name, used)
	}
	order := slices.DeleteFunc(w.senderLast(l), func(e *endpoint) bool { return e.listed })
	s := lay(order, subnet, owner, sources, w.before)
	if s.crowded != nil {
		return at(&Conflict{"link " + l.name, fmt.Sprintf("%s has no room for the address of %s", subnet, s.crowded), "use a larger subnet, or list an address for every interface"}, l.steps())
	}
	s.settle(owner)
	return nil
}

// global6 is the place of the interface's first IPv6 address that routers know; -1: none.
func (e *endpoint) global6() int {
	return slices.IndexFunc(e.addresses, func(a netip.Prefix) bool { return a.Addr().Is6() && !a.Addr().IsLinkLocalUnicast() })
}

// freeSubnet6 picks a subnet by the link's name, as freeSubnet does. A lab has fewer links than there are.
func freeSubnet6(prefix, link string, used map[netip.Prefix]bool) netip.Prefix {
	for i := hash("subnet6", prefix, link); ; i++ {
		raw := labRange6.Addr().As16()
		binary.BigEndian.PutUint16(raw[labRange6.Bits()/8:], uint16(i))
		if p := netip.PrefixFrom(netip.AddrFrom16(raw), bits6); !used[p] {
			used[p] = true
			return p
		}
	}
}
