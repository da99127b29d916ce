package plan

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"net"
	"net/netip"
	"slices"

	"nines.dev/nines/spec"
)

// labRange is reserved for benchmarks by RFC 2544, C.2.2, so that no lab's address can be one that
// the host needs.
var labRange = netip.MustParsePrefix("198.18.0.0/15")

// maxStaticNeighbours is the most endpoints of a link for which every interface knows every other
// without ARP. The number of entries grows as the square.
const maxStaticNeighbours = 16

// slotBits is the prefix length of a slot of labRange: no planned subnet is smaller.
const slotBits = 30

// assignMACs gives each interface the address of the file, or a locally administered one (bit 1 of the
// first octet, IEEE 802-2014, 8.4) from the hash of its names, so that it stays
// the same when other links come and go.
func (w *work) assignMACs() error {
	taken := map[string]bool{}
	if err := w.userMACs(taken); err != nil {
		return err
	}
	for _, l := range w.links {
		if !l.addressed() {
			continue
		}
		for _, e := range l.endpoints {
			for salt := 0; e.mac == ""; salt++ {
				if mac := hashedMAC(w.prefix, l.name, e.String(), fmt.Sprint(salt)); !taken[mac] {
					e.mac, taken[mac] = mac, true
				}
			}
		}
	}
	return nil
}

// userMACs reads what the nodes list.
func (w *work) userMACs(taken map[string]bool) error {
	for _, n := range w.nodes {
		for _, name := range slices.Sorted(maps.Keys(n.spec.MAC)) {
			place := "node " + n.name + ": mac." + name
			e := n.endpointOf(name)
			if e == nil {
				return at(&Conflict{place, "no link has the endpoint " + n.name + ":" + name, "add it to a link"}, n.steps("mac", name))
			}
			mac, err := net.ParseMAC(n.spec.MAC[name])
			if err != nil {
				return at(&Conflict{place, err.Error(), `write it as "02:00:00:00:00:01"`}, n.steps("mac", name))
			}
			e.mac = mac.String()
			taken[e.mac] = true
		}
	}
	return nil
}

// endpointOf is the node's interface of a name; nil: there is none.
func (n *node) endpointOf(name string) *endpoint {
	if i := slices.IndexFunc(n.endpoints, func(e *endpoint) bool { return e.name == name }); i >= 0 {
		return n.endpoints[i]
	}
	return nil
}

func hashedMAC(from ...string) string {
	h := hash(append([]string{"mac"}, from...)...)
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", byte(h>>32), byte(h>>24), byte(h>>16), byte(h>>8), byte(h))
}

// assignAddresses takes the user's addresses, and gives each interface that the file does not list an IPv4 address
// from its link's subnet, and for IPv6 traffic an IPv6 one. Then each knows by which it is measured.
func (w *work) assignAddresses() error {
	owner := map[netip.Addr]*endpoint{}
	if err := w.userAddresses(owner); err != nil {
		return err
	}
	slots := map[uint32]bool{} // the /30s of labRange that are taken
	used := map[netip.Prefix]bool{}
	for _, l := range w.links {
		for _, e := range l.endpoints {
			for _, a := range e.addresses {
				if subnet := a.Masked(); !used[subnet] && subnet.Overlaps(labRange) {
					used[subnet] = true
					take(subnet, slots)
				}
			}
		}
	}
	w.keepSubnets(slots)
	for _, l := range w.links {
		if !l.addressed() {
			continue // the cluster gives them
		}
		if err := w.addressLink(l, owner, slots); err != nil {
			return err
		}
	}
	if w.ip6() {
		if err := w.assignIPv6(owner); err != nil {
			return err
		}
	}
	for _, n := range w.nodes {
		for _, e := range n.endpoints {
			e.choose(w.ip6())
		}
	}
	return nil
}

// choose takes the first address of the traffic's IP version; another where there is none, off the path, or none.
func (e *endpoint) choose(ip6 bool) {
	switch at := e.global6(); {
	case ip6 && at >= 0:
		e.measured = e.addresses[at]
	case len(e.addresses) > 0:
		e.measured = e.addresses[0]
	}
}

// checkVersions refuses traffic over an interface whose addresses in the file are not of its IP version, and an engine at
// one without any. Devices that pass frames on unchanged need none.
func (w *work) checkVersions() error {
	version, other := 4, 6
	if w.ip6() {
		version, other = 6, 4
	}
	for _, e := range w.path {
		suits := e.hasIPv4()
		if w.ip6() {
			suits = e.global6() >= 0
		}
		if e.addressed() && !e.node.app().Through() && !suits {
			return at(&Conflict{"traffic", fmt.Sprintf("its packets are of IPv%d, and the file lists no such address for %s", version, e),
				fmt.Sprintf("list one in addresses, remove %s there so that nines assigns one, or write ip: %d", e.name, other)}, e.node.steps("addresses", e.name))
		}
	}
	for _, n := range w.nodes {
		for _, e := range n.ports {
			if e.addressed() && !e.measured.IsValid() {
				return at(&Conflict{n.title(), fmt.Sprintf("its engine opens %s, for which the file lists no address", e), "list one, or remove the key"}, n.steps("addresses", e.name))
			}
		}
	}
	return nil
}

// checkHops refuses a path on which two neighbours are not in one subnet, unless the user gave the
// sender routes: its sockets would have no route.
func (w *work) checkHops() error {
	for _, h := range w.hops() {
		if !h.out.addressed() {
			continue // the cluster's network routes
		}
		if !h.out.measured.IsValid() || !h.in.measured.IsValid() {
			continue // frames pass as if the node were not there
		}
		if !h.out.measured.Masked().Contains(h.in.ip()) && len(h.out.node.spec.Routes) == 0 {
			return at(&Conflict{"link " + h.out.link.name, fmt.Sprintf("%s has %s and %s has %s: not in one subnet", h.out, h.out.measured, h.in, h.in.measured),
				"give them addresses of one subnet, or node " + h.out.node.name + " a route"}, h.out.link.steps())
		}
	}
	return nil
}

// userAddresses reads what the nodes list, IPv4 before IPv6.
func (w *work) userAddresses(owner map[netip.Addr]*endpoint) error {
	for _, n := range w.nodes {
		for _, name := range slices.Sorted(maps.Keys(n.spec.Addresses)) {
			place := "node " + n.name + ": addresses." + name
			e := n.endpointOf(name)
			if name == spec.Loopback {
				e = &endpoint{node: n, name: name}
			}
			if e == nil {
				return at(&Conflict{place, "no link has the endpoint " + n.name + ":" + name, "add it to a link"}, n.steps("addresses", name))
			}
			e.listed = true
			for _, text := range n.spec.Addresses[name] {
				a, err := netip.ParsePrefix(text)
				if err != nil {
					return at(&Conflict{place, fmt.Sprintf("%q is not an address", text), `write it with its prefix length, as "10.0.0.1/24"`}, n.steps("addresses", name))
				}
				if other := owner[a.Addr()]; other != nil && !onTwoSides(other.node, n) && (!w.exp.Topology.Repeats(a.Addr()) || other.link == e.link && e.link != nil) {
					return at(&Conflict{place, fmt.Sprintf("%s is the address of %s already", a.Addr(), other), "an address belongs to one interface"}, n.steps("addresses", name))
				}
				owner[a.Addr()] = e
				e.addresses = append(e.addresses, a)
			}
			slices.SortStableFunc(e.addresses, func(a, b netip.Prefix) int {
				return boolToInt(a.Addr().Is6()) - boolToInt(b.Addr().Is6())
			})
			if name == spec.Loopback {
				n.loopback = e.addresses
			}
		}
	}
	return nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (e *endpoint) hasIPv4() bool {
	return len(e.addresses) > 0 && e.addresses[0].Addr().Is4()
}

// addressLink assigns the addresses of one link: in the subnet of those that the file lists, else in that of the running
// lab, which grows where it has no room, else in a free one.
func (w *work) addressLink(l *link, owner map[netip.Addr]*endpoint, slots map[uint32]bool) error {
	order := slices.DeleteFunc(w.senderLast(l), func(e *endpoint) bool { return e.listed })
	if len(order) == 0 {
		return nil
	}
	if listed := w.listedSubnet(l); listed.IsValid() {
		s := lay(order, listed, owner, flowSources{}, w.before)
		if s.crowded != nil {
			return at(&Conflict{"link " + l.name, fmt.Sprintf("%s has no room for the address of %s", listed, s.crowded), "use a larger subnet, or list an address for every interface"}, l.steps())
		}
		s.settle(owner)
		return nil
	}
	if s := w.layKept(l, order, owner, slots); s != nil {
		s.settle(owner)
		return nil
	}
	sources := w.flowSources(l)
	subnet, err := freeSubnet(w.prefix, l, len(order)+sources.more, slots)
	if err != nil {
		return err
	}
	lay(order, subnet, owner, sources, w.before).settle(owner)
	return nil
}

// listedSubnet is the subnet of a link's addresses in the file: of several that which most running interfaces are in,
// else the first; zero without any.
func (w *work) listedSubnet(l *link) (subnet netip.Prefix) {
	most, seen := -1, map[netip.Prefix]bool{}
	for _, e := range l.endpoints {
		if !e.hasIPv4() || seen[e.addresses[0].Masked()] {
			continue
		}
		one, kept := e.addresses[0].Masked(), 0
		seen[one] = true
		for _, other := range l.endpoints {
			kept += boolToInt(w.before.address(other, one).IsValid())
		}
		if kept > most {
			subnet, most = one, kept
		}
	}
	return subnet
}

// flowSources are the addresses that flows take on a link, besides the sender's own.
type flowSources struct {
	sender *endpoint // nil: none
	more   int
}

func (w *work) flowSources(l *link) flowSources {
	for _, c := range w.courses {
		if c.from().link == l && c.stream.FlowField == spec.FlowSourceAddress {
			return flowSources{c.from(), c.stream.Flows - 1}
		}
	}
	return flowSources{}
}

// senderLast is the order in which a link's interfaces get their addresses. Flows by source address count up from the
// sender's address, so it comes last, with room above it: the receiver would drop its own address as a source.
func (w *work) senderLast(l *link) []*endpoint {
	order := slices.Clone(l.endpoints)
	if f := w.flowSources(l); f.more > 0 {
		order = slices.DeleteFunc(order, func(e *endpoint) bool { return e == f.sender })
		order = append(order, f.sender)
	}
	return order
}

// freeSubnet picks the smallest subnet that holds that many addresses. It starts at a position
// derived from the link's name, so that links keep their subnets when others are added.
func freeSubnet(prefix string, l *link, addresses int, slots map[uint32]bool) (netip.Prefix, error) {
	hostBits := max(32-slotBits, bits.Len(uint(addresses+1))) // with network and broadcast
	if 32-hostBits < labRange.Bits() {
		return netip.Prefix{}, at(&Conflict{"link " + l.name, fmt.Sprintf("needs %d addresses; %s has %d", addresses, labRange, 1<<(32-labRange.Bits())),
			"use fewer flows, or flow_field: source_port"}, l.steps())
	}
	base := binary.BigEndian.Uint32(labRange.Addr().AsSlice())
	count := uint64(1) << (32 - labRange.Bits() - hostBits)
	width := uint32(1) << (hostBits - (32 - slotBits)) // in /30s
	start := hash("subnet", prefix, l.name) % count
	for i := range count {
		slot := uint32((start + i) % count)
		if anySlot(slots, slot*width, width) {
			continue
		}
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], base+slot<<hostBits)
		for s := range width {
			slots[slot*width+s] = true
		}
		return netip.PrefixFrom(netip.AddrFrom4(raw), 32-hostBits), nil
	}
	return netip.Prefix{}, at(&Conflict{"link " + l.name, fmt.Sprintf("%s has no free subnet for its %d addresses", labRange, addresses),
		"list addresses of your own for some links, or use fewer flows by source address"}, l.steps())
}

// take marks the /30s of labRange that a subnet overlaps.
func take(subnet netip.Prefix, slots map[uint32]bool) {
	base := labRange
	if subnet.Bits() > base.Bits() {
		base = subnet
	}
	start := labRange.Addr().As4()
	from := base.Addr().As4()
	first := (binary.BigEndian.Uint32(from[:]) - binary.BigEndian.Uint32(start[:])) >> (32 - slotBits)
	for s := range uint32(1) << max(slotBits-base.Bits(), 0) {
		slots[first+s] = true
	}
}

func anySlot(slots map[uint32]bool, first, width uint32) bool {
	for s := range width {
		if slots[first+s] {
			return true
		}
	}
	return false
}

// lastAddress is a subnet's broadcast address.
func lastAddress(p netip.Prefix) netip.Addr {
	raw := p.Addr().As4()
	n := binary.BigEndian.Uint32(raw[:]) | (1<<(32-p.Bits()) - 1)
	binary.BigEndian.PutUint32(raw[:], n)
	return netip.AddrFrom4(raw)
}

func (e *endpoint) cidrs() []string {
	list := make([]string, 0, len(e.addresses))
	for _, a := range e.addresses {
		list = append(list, a.String())
	}
	return list
}

// speaks reports whether an interface has an address of the same IP version as another. IPv6 is off
// where the file lists no IPv6 address.
func (e *endpoint) speaks(other netip.Addr) bool {
	return slices.ContainsFunc(e.addresses, func(a netip.Prefix) bool { return a.Addr().Is4() == other.Is4() })
}
