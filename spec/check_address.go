package spec

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/terminal"
)

// interfacesOf calls do with each interface that a key of a node names, in order, and refuses others; own is one that the
// node has without a link.
func interfacesOf[T any](c *checker, name, key, own string, values map[string]T, do func(iface string, at []string)) {
	for _, iface := range slices.Sorted(maps.Keys(values)) {
		at := []string{"topology", "nodes", name, key, iface}
		if iface != own && !slices.Contains(c.interfaces[name], iface) {
			c.failKey(fmt.Sprintf("%q has no interface %q", name, clip(iface)), terminal.Listed(c.interfaces[name]), terminal.DidYouMean(iface, c.interfaces[name]), at...)
		}
		do(iface, at)
	}
}

// addresses checks the addresses that the user gives to interfaces; the lab may use each only once.
func (c *checker) addresses() {
	for i, text := range c.e.Topology.RepeatedAddresses {
		if _, err := netip.ParsePrefix(text); err != nil {
			c.fail(fmt.Sprintf("%q is not a network", clip(text)), "networks such as 10.0.0.0/24, or 10.0.0.1/32 for one address", "", "topology", "repeated_addresses", strconv.Itoa(i))
		}
	}
	owner := map[string]string{}
	for _, name := range c.nodeNames() {
		n := c.e.Topology.Nodes[name]
		interfacesOf(c, name, "addresses", Loopback, n.Addresses, func(iface string, at []string) {
			if iface == Loopback {
				c.loopback(n, at)
			}
			for i, text := range n.Addresses[iface] {
				here := under(at, strconv.Itoa(i))
				if addr, ok := c.address(text, here); ok {
					where := addr.String()
					if c.e.Topology.Repeats(addr) {
						where += " " + c.place(name, iface)
					}
					if other, twice := owner[where]; twice {
						c.fail(fmt.Sprintf("%s is already the address of %s", addr, other), "", c.apart(addr, name+":"+iface, other), here...)
					} else {
						owner[where] = name + ":" + iface
					}
				}
			}
		})
	}
}

// place is where an address that repeats is once: the link of an interface, or the node with the loopback.
func (c *checker) place(name, iface string) string {
	if link, has := c.ends[name+":"+iface]; has {
		return strconv.Itoa(link)
	}
	return name
}

// apart is what to do about two interfaces with one address.
func (c *checker) apart(addr netip.Addr, one, other string) string {
	name, iface := splitEndpoint(one)
	nameToo, ifaceToo := splitEndpoint(other)
	if c.place(name, iface) == c.place(nameToo, ifaceToo) {
		return "give each interface its own"
	}
	return fmt.Sprintf("give each interface its own, or say that it repeats: topology: {repeated_addresses: [%s]}", netip.PrefixFrom(addr, addr.BitLen()))
}

// address checks one address in CIDR form.
func (c *checker) address(text string, at []string) (netip.Addr, bool) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		remedy := ""
		if addr, err := netip.ParseAddr(text); err == nil {
			remedy = fmt.Sprintf("write %s/%d, or the length of its network", addr, addr.BitLen())
		}
		c.fail(fmt.Sprintf("%q is not an address with its prefix length", clip(text)), "such as 10.0.0.1/24 or fd00::1/64", remedy, at...)
		return netip.Addr{}, false
	}
	addr := prefix.Addr()
	switch {
	case addr.IsMulticast(), addr.IsUnspecified(), addr.IsLoopback(), addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		c.fail(fmt.Sprintf("%s cannot be an interface's address", addr), "unicast addresses", "", at...)
		return addr, false
	case addr.Is4() && prefix.Bits() < 31 && addr == prefix.Masked().Addr():
		c.fail(fmt.Sprintf("%s is the network's own address, not a host's", text), "", fmt.Sprintf("write %s/%d", addr.Next(), prefix.Bits()), at...)
		return addr, false
	}
	return addr, true
}

// loopback refuses addresses of a node's own where nines does not set up its network: a guest does, or a cluster, or it
// is the host's.
func (c *checker) loopback(n *Node, at []string) {
	if d := n.Runtime.Descriptor(); d.Guest || !d.Restarts() {
		c.failKey(fmt.Sprintf("a %s node has no addresses of nines' on %s", d.Name, Loopback), "", "add them by exec, or use another runtime", at...)
	}
}

func (c *checker) routes(name string, n *Node, at []string) {
	first := map[string]int{}
	for i, r := range n.Routes {
		here := under(at, "routes", strconv.Itoa(i))
		var to netip.Prefix
		if r.To != "default" {
			var err error
			if to, err = netip.ParsePrefix(r.To); err != nil {
				c.fail(fmt.Sprintf("%q is not a network", clip(r.To)), `networks such as 10.0.0.0/24, or "default"`, "", under(here, "to")...)
			} else if to != to.Masked() {
				c.fail(fmt.Sprintf("%s has bits beyond its prefix length", r.To), "", fmt.Sprintf("write %s", to.Masked()), under(here, "to")...)
			}
		}
		if r.To == "default" && strings.Contains(r.Via, ":") {
			to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
		} else if r.To == "default" {
			to = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		}
		if other, twice := first[to.String()]; twice && to.IsValid() {
			c.fail(fmt.Sprintf("%s is also the destination of route %d, which this one would replace", r.To, other+1), "", "keep one of them, or part the network", under(here, "to")...)
		} else {
			first[to.String()] = i
		}
		if r.Via == "" && r.Interface == "" {
			c.fail("the route leads nowhere", "", `add "via", "interface" or both`, here...)
		}
		if r.Via != "" {
			via, err := netip.ParseAddr(r.Via)
			switch {
			case err != nil:
				c.fail(fmt.Sprintf("%q is not an address", clip(r.Via)), "such as 10.0.0.1 (without a prefix length)", "", under(here, "via")...)
			case r.To != "default" && to.IsValid() && via.Is4() != to.Addr().Is4():
				c.fail(fmt.Sprintf("%s and %s are not of the same IP version", r.Via, r.To), "", "", under(here, "via")...)
			}
		}
		if r.Interface != "" && !slices.Contains(c.interfaces[name], r.Interface) {
			c.fail(fmt.Sprintf("%q has no interface %q", name, r.Interface), terminal.Listed(c.interfaces[name]), terminal.DidYouMean(r.Interface, c.interfaces[name]), under(here, "interface")...)
		}
	}
}
