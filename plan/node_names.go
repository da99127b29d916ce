package plan

import (
	"net/netip"
	"slices"

	"nines.dev/nines/spec"
)

// ManagementDomain is the domain of the nodes' names on the management network: b is node b over the
// measured network, b.mgmt the same node over the management network.
const ManagementDomain = "mgmt"

// NodeName is a name of a node, and what it means to another node.
type NodeName struct {
	Name      string
	Addresses []netip.Addr
}

// NamesFor are the names that a node knows, its own among them, sorted by node. A name means all addresses
// of its node on measured links, those on a link that both are on first; where it has none, those on the
// management network. So does its host name, its name for itself. It is pure.
func (p *Plan) NamesFor(nodeName string) []NodeName {
	near := map[string]bool{}
	if n := p.Node(nodeName); n != nil {
		for _, i := range n.Interfaces {
			near[i.Link] = true
		}
	}
	list := p.names(near)
	_, side := spec.SideOf(nodeName)
	if side == "" {
		return list
	}
	for _, n := range list { // on a side of a duet, the side's nodes have their names of the file, too
		if plain, other := spec.SideOf(n.Name); other == side {
			list = append(list, NodeName{plain, n.Addresses})
		}
	}
	return list
}

// names are the names of all nodes. The addresses on some links come first.
func (p *Plan) names(near map[string]bool) []NodeName {
	named := map[string]bool{}
	for _, n := range p.Nodes {
		named[n.Name] = true
	}
	var list []NodeName
	for _, n := range p.Nodes {
		measured, managed := p.addressesOf(n, near)
		if len(measured) == 0 {
			measured = managed
		}
		if len(measured) > 0 {
			list = append(list, NodeName{n.Name, measured})
		}
		if len(managed) > 0 {
			list = append(list, NodeName{n.Name + "." + ManagementDomain, managed})
		}
		if len(measured) > 0 && !named[n.HostName] {
			list = append(list, NodeName{n.HostName, measured})
		}
	}
	return list
}

// addressesOf are the addresses of a node on measured links, those on some links first, and on the
// management network.
func (p *Plan) addressesOf(n Node, near map[string]bool) (measured, managed []netip.Addr) {
	var far []netip.Addr
	for _, i := range n.Interfaces {
		switch {
		case p.Management != nil && i.Link == p.Management.Link:
			managed = addresses(i)
		case near[i.Link]:
			measured = append(measured, addresses(i)...)
		default:
			far = append(far, addresses(i)...)
		}
	}
	return slices.Concat(measured, far, addresses(Interface{Addresses: n.Loopback})), managed
}

// addresses are an interface's, without prefix lengths. One of IPv6 that holds on its link only means nothing
// to a reader of a hosts file, which cannot name the link.
func addresses(i Interface) []netip.Addr {
	var list []netip.Addr
	for _, text := range i.Addresses {
		if prefix, err := netip.ParsePrefix(text); err == nil && (prefix.Addr().Is4() || !prefix.Addr().IsLinkLocalUnicast()) {
			list = append(list, prefix.Addr())
		}
	}
	return list
}

// ManagementAddress is a node's address on the management network; empty where it has none.
func (p *Plan) ManagementAddress(n Node) string {
	if p.Management == nil {
		return ""
	}
	for _, i := range n.Interfaces {
		if list := addresses(i); i.Link == p.Management.Link && i.Name == spec.ManagementInterface && len(list) > 0 {
			return list[0].String()
		}
	}
	return ""
}

// LogsIn is true for a node that people can log in to: it has an address on the management network, and is not
// the host itself.
func (p *Plan) LogsIn(n Node) bool {
	return p.ManagementAddress(n) != "" && n.Runtime.Descriptor().Restarts()
}
