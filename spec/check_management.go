package spec

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
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
		return fmt.Errorf("a /%d is outside /%d to /%d", prefix.Bits(), shortestManagement, longestManagement)
	case prefix.Addr().IsLoopback(), prefix.Addr().IsMulticast(), prefix.Addr().IsLinkLocalUnicast(), prefix.Addr().As4()[0] == 0, prefix.Addr().As4()[0] >= 240:
		return fmt.Errorf("%s has no host addresses", text)
	}
	return nil
}

// checkAddressRange refuses what cannot be the addresses of nodes.
func checkAddressRange(text string) error {
	_, _, err := parseAddressRange(text)
	return err
}

// parseAddressRange reads the first and the last address of a range.
func parseAddressRange(text string) (first, last netip.Addr, err error) {
	from, to, _ := strings.Cut(text, "-")
	for _, one := range []struct {
		text    string
		address *netip.Addr
	}{{from, &first}, {to, &last}} {
		*one.address, err = netip.ParseAddr(one.text)
		switch {
		case err != nil || !one.address.Is4():
			return first, last, fmt.Errorf("%q is not an IPv4 address", clip(one.text))
		case one.address.IsLoopback(), one.address.IsMulticast(), one.address.As4()[0] == 0, one.address.As4()[0] >= 240:
			return first, last, fmt.Errorf("%s is not a host address", one.text)
		}
	}
	if last.Less(first) {
		return first, last, fmt.Errorf("%s is before %s", last, first)
	}
	return first, last, nil
}

// AddressRange is the first and the last address of Addresses; false where there are none.
func (m *Management) AddressRange() (first, last netip.Addr, has bool) {
	first, last, err := parseAddressRange(m.Addresses)
	return first, last, err == nil
}

// uplink checks the keys that only one of the modes takes.
func (c *checker) uplink(m *Management) {
	if m.Mode != ManagementShared {
		for _, key := range []string{"uplink", "addresses"} {
			if c.root.get("management").get(key) != nil {
				c.failKey("a private management network uses no interface of the host, and has its own subnet", "", "write mode: shared, or remove the key", "management", key)
			}
		}
		return
	}
	if m.Uplink == "" {
		c.fail("a shared management network needs an interface of the host, and the file names none", "", "write uplink: and its name; ip -br address lists them", "management", "mode")
	}
	if m.Subnet != "" {
		c.failKey("a shared network uses the uplink's subnet", "", "remove the key; addresses: selects the nodes' addresses in it", "management", "subnet")
	}
	if m.DNS {
		c.fail("the lab's server would also answer other machines on the uplink's network", "false", "remove the key; the nodes resolve each other by /etc/hosts", "management", "dns")
	}
	if m.Addresses == "" && m.MAC != ManagementMACPos {
		c.fail("nines does not choose addresses on a shared network", `a range, such as "172.16.142.2-172.16.142.20"`, "ask the network's administrator for free addresses, and write them as addresses:", "management", "mode")
	}
}

// management checks the management network, and that nothing else has its names.
func (c *checker) management() {
	m := c.e.Management
	if m == nil {
		return
	}
	c.uplink(m)
	for _, name := range c.e.remotes(c.nodeNames()) {
		c.fail(fmt.Sprintf("%q is a pod, whose network is its cluster's, so it cannot join the management network of this host", name), "", "remove management, or give the node another runtime",
			"topology", "nodes", name)
	}
	for i, link := range c.e.Topology.Links {
		if link.Name == ManagementLink {
			c.fail(fmt.Sprintf("%q is the name of the management network", ManagementLink), "", "rename the link", under(linkSteps(i), "name")...)
		}
		for j, endpoint := range link.Endpoints {
			if _, iface := splitEndpoint(endpoint); iface == ManagementInterface {
				c.fail(fmt.Sprintf("%q is each node's interface on the management network", ManagementInterface), "", "rename this interface",
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
