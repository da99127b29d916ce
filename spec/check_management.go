package spec

import (
	"fmt"
	"net/netip"
	"strconv"
)

// The lengths of a management network's prefix: a host, a server of names and a node have to fit, and
// a bridge has no more ports than a /22 has addresses.
const (
	shortestManagement = 22
	longestManagement  = 29
)

// checkSubnet refuses what cannot be the subnet of a management network.
func checkSubnet(text string) error {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a network with its prefix length", clip(text))
	case !prefix.Addr().Is4():
		return fmt.Errorf("%s is not an IPv4 network", text)
	case prefix != prefix.Masked():
		return fmt.Errorf("%s has bits beyond its prefix length; the network is %s", text, prefix.Masked())
	case prefix.Bits() < shortestManagement || prefix.Bits() > longestManagement:
		return fmt.Errorf("a /%d is not of a length from /%d to /%d", prefix.Bits(), shortestManagement, longestManagement)
	case prefix.Addr().IsLoopback(), prefix.Addr().IsMulticast(), prefix.Addr().IsLinkLocalUnicast(), prefix.Addr().As4()[0] == 0, prefix.Addr().As4()[0] >= 240:
		return fmt.Errorf("%s has no addresses of machines", text)
	}
	return nil
}

// management checks the management network, and that nothing else has its names.
func (c *checker) management() {
	m := c.e.Management
	if m == nil {
		return
	}
	if m.Mode == ManagementShared {
		c.fail("a management network cannot be put on an interface of the host yet: the host may be reached over it, so nines would have to restore it after any crash", string(ManagementPrivate),
			"write mode: private; from elsewhere, log in through the host: ssh -J HOST root@ADDRESS", "management", "mode")
	}
	for _, name := range c.e.remotes(c.nodeNames()) {
		c.fail(fmt.Sprintf("%q is a pod, whose network is its cluster's, so it cannot join the management network of this host", name), "", "take management away, or give the node another runtime",
			"topology", "nodes", name)
	}
	for i, link := range c.e.Topology.Links {
		if link.Name == ManagementLink {
			c.fail(fmt.Sprintf("%q is the name of the management network", ManagementLink), "", "name the link otherwise", under(linkSteps(i), "name")...)
		}
		for j, endpoint := range link.Endpoints {
			if _, iface := splitEndpoint(endpoint); iface == ManagementInterface {
				c.fail(fmt.Sprintf("%q is each node's interface on the management network", ManagementInterface), "", "name this interface otherwise",
					under(linkSteps(i), "endpoints", strconv.Itoa(j))...)
			}
		}
	}
	seen := map[string]bool{}
	for i, path := range m.SSHKeys {
		if seen[path] {
			c.fail(fmt.Sprintf("%q is listed twice", clip(path)), "", "keep one of them", "management", "ssh_keys", strconv.Itoa(i))
		}
		seen[path] = true
	}
}
