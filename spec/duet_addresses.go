package spec

import (
	"maps"
	"net/netip"
	"slices"
)

// sideB decides which of the file's addresses side b has. Its nodes have networks of their own, where the same addresses do no
// harm. A node that is there once has interfaces of both sides, and one network on two of them would lead all its packets to
// one side. What side b cannot have is noted.
type sideB struct {
	doubled
	links []*Link // of side a
	// linkOf is the place of the link that an endpoint is on, joined are the links to nodes that are there once.
	linkOf map[string]int
	joined map[int]bool
	// networks are those of the addresses that side a lists on joined links.
	networks []netip.Prefix

	addresses, macs []Replaced
}

func sideBOf(d doubled, a *Experiment) *sideB {
	b := &sideB{doubled: d, links: a.Topology.Links, linkOf: map[string]int{}, joined: map[int]bool{}}
	for i, link := range b.links {
		for _, endpoint := range link.Endpoints {
			name, _ := splitEndpoint(endpoint)
			b.linkOf[endpoint] = i
			b.joined[i] = b.joined[i] || !d.nodes[name]
		}
	}
	for name, n := range a.Topology.Nodes {
		for iface, list := range n.Addresses {
			if i, on := b.linkOf[name+":"+iface]; !on || !b.joined[i] {
				continue
			}
			for _, text := range list {
				if prefix, err := netip.ParsePrefix(text); err == nil && !ofLink(prefix) {
					b.networks = append(b.networks, prefix.Masked())
				}
			}
		}
	}
	return b
}

// ofLink is true for an address that each link has for itself.
func ofLink(prefix netip.Prefix) bool {
	return prefix.Addr().Is6() && prefix.Addr().IsLinkLocalUnicast()
}

// takes is true if an interface of side b can have the addresses.
func (b *sideB) takes(endpoint string, addresses []string) bool {
	i, on := b.linkOf[endpoint]
	return !on || !b.joined[i] || !slices.ContainsFunc(addresses, func(text string) bool {
		prefix, err := netip.ParsePrefix(text)
		return err == nil && !ofLink(prefix) && slices.ContainsFunc(b.networks, prefix.Overlaps)
	})
}

// takesMAC is true if an interface of side b can have the MAC address of side a: in another node, and on another network of
// the host's.
func (b *sideB) takesMAC(endpoint string) bool {
	name, _ := splitEndpoint(endpoint)
	i, on := b.linkOf[endpoint]
	return on && b.nodes[name] && b.links[i].Parent == "" && !b.links[i].Kind.Descriptor().End.IsHardware()
}

// node has what side b can have of the addresses of a node of one side or of both.
func (b *sideB) node(name string, n *Node) (addresses map[string][]string, macs map[string]string) {
	for _, iface := range slices.Sorted(maps.Keys(n.Addresses)) {
		endpoint, list := name+":"+iface, n.Addresses[iface]
		if !b.takes(endpoint, list) {
			b.addresses = append(b.addresses, Replaced{b.endpoint(endpoint, SideB), list})
			continue
		}
		if addresses == nil {
			addresses = map[string][]string{}
		}
		addresses[iface] = list
	}
	for _, iface := range slices.Sorted(maps.Keys(n.MAC)) {
		endpoint, mac := name+":"+iface, n.MAC[iface]
		if !b.takesMAC(endpoint) {
			b.macs = append(b.macs, Replaced{b.endpoint(endpoint, SideB), []string{mac}})
			continue
		}
		if macs == nil {
			macs = map[string]string{}
		}
		macs[iface] = mac
	}
	return addresses, macs
}

// once is a node that both sides have, with the addresses of both.
func (b *sideB) once(name string, n *Node) *Node {
	out, twice := *n, *n
	twice.Addresses, twice.MAC = map[string][]string{}, map[string]string{}
	is := map[string]bool{}
	for endpoint, i := range b.linkOf {
		owner, iface := splitEndpoint(endpoint)
		if owner != name || !b.doubled.links[i] {
			continue
		}
		is[iface] = true
		if list, listed := n.Addresses[iface]; listed {
			twice.Addresses[iface] = list
		}
		if mac, listed := n.MAC[iface]; listed {
			twice.MAC[iface] = mac
		}
	}
	addresses, _ := b.node(name, &twice)
	out.Addresses, out.MAC = onSideA(n.Addresses, is), onSideA(n.MAC, is)
	for iface, list := range addresses {
		out.Addresses[interfaceOnSide(iface, SideB)] = list
	}
	out.InterfaceAliases = onSides(n.InterfaceAliases, is)
	return &out
}
