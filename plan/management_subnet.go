package plan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"

	"nines.dev/nines/host"
)

// chooseSubnet takes the user's subnet, or one of host.ManagementRange that the host has no route to.
// The first to be tried is by the hash of the prefix, so that a lab keeps its own.
func (w *work) chooseSubnet(m *management, asked string) error {
	place := []string{"management", "subnet"}
	want := len(m.ends) + numbersBeside
	if asked != "" {
		subnet, err := netip.ParsePrefix(asked)
		if err != nil || !subnet.Addr().Is4() || subnet != subnet.Masked() {
			return at(&Conflict{"management", fmt.Sprintf("%q is not an IPv4 network", asked), `write it as "172.16.142.0/24"`}, place)
		}
		if have := 1 << (32 - subnet.Bits()); have < want {
			return at(&Conflict{"management", fmt.Sprintf("%s has %d addresses, and %d nodes, the host and a DNS server need %d", subnet, have, len(m.ends), want), "use a larger subnet"}, place)
		}
		if other := w.measuredNetwork(subnet); other.IsValid() {
			return at(&Conflict{"management", fmt.Sprintf("%s overlaps %s, a network of the lab's links", subnet, other), "use another subnet, or remove the key: nines chooses one"}, place)
		}
		if taken := w.routeInto(m, subnet); taken != nil {
			return at(&Conflict{"management", fmt.Sprintf("this host has a route to %s by %s, and the subnet %s would take packets from it", taken.Subnet, taken.Device, subnet), "use another subnet, or remove the key: nines chooses one"}, place)
		}
		m.setSubnet(subnet, "as the file asks")
		return nil
	}
	length := min(usualManagementBits, 32-bits.Len(uint(want-1)))
	for _, n := range w.inv.Networks {
		// The lab is up: while it is, what else comes and goes does not move it.
		if n.Device == m.Device && n.Subnet.Bits() == length && host.ManagementRange.Overlaps(n.Subnet) && !w.measuredNetwork(n.Subnet).IsValid() {
			m.setSubnet(n.Subnet, "as in the running lab")
			return nil
		}
	}
	count := uint64(1) << (length - host.ManagementRange.Bits())
	start := hash("management", w.prefix) % count
	base := binary.BigEndian.Uint32(host.ManagementRange.Addr().AsSlice())
	for i := range count {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], base+uint32((start+i)%count)<<(32-length))
		subnet := netip.PrefixFrom(netip.AddrFrom4(raw), length)
		if w.routeInto(m, subnet) == nil && !w.measuredNetwork(subnet).IsValid() {
			m.setSubnet(subnet, fmt.Sprintf("a free one of %s, starting at the hash of the prefix", host.ManagementRange))
			return nil
		}
	}
	return at(&Impossible{"management needs a subnet of " + host.ManagementRange.String(), "this host has routes to all of them",
		`name one that is free, as subnet: "10.200.0.0/24"`}, []string{"management"})
}

func (m *management) setSubnet(subnet netip.Prefix, why string) {
	m.subnet, m.Subnet = subnet, subnet.String()
	m.because("subnet %s, %s", subnet, why)
}

// measuredNetwork is a network of the lab's links that overlaps a subnet; zero without one.
func (w *work) measuredNetwork(subnet netip.Prefix) netip.Prefix {
	for _, l := range w.links {
		for _, e := range l.endpoints {
			for _, a := range e.addresses {
				if a.Masked().Overlaps(subnet) {
					return a.Masked()
				}
			}
		}
	}
	return netip.Prefix{}
}

// routeInto is a route of the host, not the lab's own, into a subnet, or over all of it; nil without
// one. Routes outside host.ManagementRange are not in the inventory: package lab looks at them.
func (w *work) routeInto(m *management, subnet netip.Prefix) *host.Network {
	i := slices.IndexFunc(w.inv.Networks, func(n host.Network) bool { return n.Device != m.Device && n.Subnet.Overlaps(subnet) })
	if i < 0 {
		return nil
	}
	return &w.inv.Networks[i]
}

// numberOf is an IPv4 address as a number.
func numberOf(a netip.Addr) uint32 {
	raw := a.As4()
	return binary.BigEndian.Uint32(raw[:])
}

// numbered is an address of a subnet by its number, from the subnet's own.
func numbered(subnet netip.Prefix, number int) netip.Addr {
	raw := subnet.Addr().As4()
	binary.BigEndian.PutUint32(raw[:], binary.BigEndian.Uint32(raw[:])+uint32(number))
	return netip.AddrFrom4(raw)
}
