package plan

import (
	"fmt"
	"strings"

	"nines.dev/nines/spec"
)

// ownHostsLines is the most lines that all hosts files of single nodes may have: with about 20 bytes a line,
// 5 MB of a lab's folder. A file for each node grows as the square of the nodes.
const ownHostsLines = 1 << 18

// ResolverOptions is the nodes' /etc/host.conf, host.conf(5): the C library of GNU takes all addresses that
// a hosts file has for a name, and not only the first. Of these getaddrinfo(3) returns first one that a
// route leads to (RFC 6724, section 5, rule 1), gethostbyname(3) one of the node's own subnets.
const ResolverOptions = "# By nines: a node has several addresses in the hosts file.\nmulti on\nreorder on\n"

// CommonHosts is the hosts file that nodes share, hosts(5). It has every address of a node on a line of its
// own, so that it grows as the lab's interfaces do: readers find the one that a route leads to.
func (p *Plan) CommonHosts() string { return p.hosts(p.names(nil), "") }

// HostsFor is a node's own hosts file: the same lines, but the addresses that the node reaches most directly
// come first.
func (p *Plan) HostsFor(n Node) string {
	if p.addressed(n) {
		return p.hosts(p.NamesFor(n.Name), "")
	}
	return p.hosts(p.NamesFor(n.Name), n.HostName)
}

// OwnHosts are the nodes that keep a hosts file of their own. Those of an image do, as its C library need not
// sort what it finds: musl takes the first line, if all addresses are of IPv4. So do those without an address,
// whose host name can mean nothing but the node itself, and those of a duet's side, to which a name of the file means
// the node on their side. A lab whose files would have more than ownHostsLines
// has the common one only.
func (p *Plan) OwnHosts() map[string]bool {
	own := map[string]bool{}
	for _, n := range p.Nodes {
		_, side := spec.SideOf(n.Name)
		if n.Image != nil || side != "" || !p.addressed(n) {
			own[n.Name] = true
		}
	}
	if len(own)*strings.Count(p.CommonHosts(), "\n") > ownHostsLines {
		return nil
	}
	return own
}

// addressed is true for a node that the names of a hosts file can mean.
func (p *Plan) addressed(n Node) bool {
	measured, managed := p.addressesOf(n, nil)
	return len(measured)+len(managed) > 0
}

// hosts is a hosts file of names; itself is the host name of a reader that has no address.
func (p *Plan) hosts(names []NodeName, itself string) string {
	var b strings.Builder
	b.WriteString("# By nines: the nodes of the lab " + p.Name + ", over the measured network")
	if p.Management != nil {
		b.WriteString(", and as NODE." + ManagementDomain + " over the management network")
	}
	b.WriteString(".\n127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n")
	if itself != "" {
		fmt.Fprintf(&b, "127.0.1.1 %s\n", itself)
	}
	for _, name := range names {
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
		if address := p.ManagementAddress(n); address != "" {
			fmt.Fprintf(&b, "%s %s.%s\n", address, n.Name, p.Name)
		}
	}
	return b.String()
}

// ResolverFor is a node's /etc/resolv.conf, resolv.conf(5); empty where the lab has no server of names
// that the node can ask.
func (p *Plan) ResolverFor(n Node) string {
	if p.Management == nil || p.Management.Server == "" || p.ManagementAddress(n) == "" {
		return ""
	}
	return "# By nines: the management network's server, which knows NODE." + ManagementDomain + ".\nnameserver " + p.Management.Server + "\n"
}
