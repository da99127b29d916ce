package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

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

// NamesFor are the names that a node knows, its own among them, sorted by node. A name means the
// address of the other node that the node reaches most directly: on a link that both have, else the
// first of the node's. Where the other node has none on a measured link, it means the one on the
// management network. It is pure.
func (p *Plan) NamesFor(nodeName string) []NodeName {
	var list []NodeName
	for _, n := range p.Nodes {
		measured, managed := p.addressesFor(nodeName, n)
		if len(measured) == 0 {
			measured = managed
		}
		if len(measured) > 0 {
			list = append(list, NodeName{n.Name, measured})
		}
		if len(managed) > 0 {
			list = append(list, NodeName{n.Name + "." + ManagementDomain, managed})
		}
	}
	return list
}

// addressesFor are the addresses of a node as another reaches it, by measured links and by the
// management network.
func (p *Plan) addressesFor(other string, n Node) (measured, managed []netip.Addr) {
	shared := false
	for _, i := range n.Interfaces {
		if p.Management != nil && i.Link == p.Management.Link {
			managed = addresses(i)
			continue
		}
		with := n.Name != other && p.joins(i.Link, other)
		if len(measured) == 0 || with && !shared {
			measured, shared = addresses(i), with
		}
	}
	return measured, managed
}

// joins is true for a link that a node is on.
func (p *Plan) joins(link, nodeName string) bool {
	return slices.ContainsFunc(p.Links, func(l Link) bool {
		return l.Name == link && slices.ContainsFunc(l.Endpoints, func(e Endpoint) bool { return e.Node == nodeName })
	})
}

// addresses are an interface's, without prefix lengths.
func addresses(i Interface) []netip.Addr {
	var list []netip.Addr
	for _, text := range i.Addresses {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			list = append(list, prefix.Addr())
		}
	}
	return list
}

// HostsFor is a node's /etc/hosts, hosts(5).
func (p *Plan) HostsFor(n Node) string {
	var b strings.Builder
	b.WriteString("# By nines: the nodes of the lab " + p.Name + ", over the measured network")
	if p.Management != nil {
		b.WriteString(", and as NODE." + ManagementDomain + " over the management network")
	}
	b.WriteString(".\n127.0.0.1 localhost\n127.0.1.1 " + n.HostName + "\n::1 localhost ip6-localhost ip6-loopback\n")
	for _, name := range p.NamesFor(n.Name) {
		for _, address := range name.Addresses {
			fmt.Fprintf(&b, "%s %s\n", address, name.Name)
		}
	}
	return b.String()
}

// HostsForHost has the nodes as this host reaches them, over the management network, for its own
// hosts file: NODE.LAB, as another lab may have a node of the same name.
func (p *Plan) HostsForHost() string {
	var b strings.Builder
	for _, n := range p.Nodes {
		if address := p.ManagementAddress(n.Name); address != "" {
			fmt.Fprintf(&b, "%s %s.%s\n", address, n.Name, p.Name)
		}
	}
	return b.String()
}

// ManagementAddress is a node's address on the management network; empty where it has none.
func (p *Plan) ManagementAddress(nodeName string) string {
	i := p.face(Endpoint{Node: nodeName, Interface: spec.ManagementInterface})
	if p.Management == nil || i.Link != p.Management.Link || len(addresses(i)) == 0 {
		return ""
	}
	return addresses(i)[0].String()
}

// LogsIn is true for a node that people can log in to: it has an address on the management network, and is not
// the host itself.
func (p *Plan) LogsIn(n Node) bool {
	return p.ManagementAddress(n.Name) != "" && n.Runtime.Descriptor().Restarts()
}

// ResolverFor is a node's /etc/resolv.conf, resolv.conf(5); empty where the lab has no server of names
// that the node can ask.
func (p *Plan) ResolverFor(n Node) string {
	if p.Management == nil || p.Management.Server == "" || p.ManagementAddress(n.Name) == "" {
		return ""
	}
	return "# By nines: the management network's server, which knows NODE." + ManagementDomain + ".\nnameserver " + p.Management.Server + "\n"
}
