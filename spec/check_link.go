package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/terminal"
)

// Loopback is the interface that every node has; its addresses can be listed, as those of others.
const Loopback = "lo"

// reservedInterfaces cannot name a lab's interface: lo exists already, and all and default are the
// kernel's own folders in /proc/sys/net/ipv4/conf.
var reservedInterfaces = []string{Loopback, "all", "default"}

// splitEndpoint splits "node:interface"; the decoder has checked the form.
func splitEndpoint(endpoint string) (node, iface string) {
	node, iface, _ = strings.Cut(endpoint, ":")
	return node, iface
}

// endpoints lists the links' endpoints, in the links' order.
func (e *Experiment) endpoints() []string {
	var all []string
	for _, link := range e.Topology.Links {
		all = append(all, link.Endpoints...)
	}
	return all
}

// inCaseOfKind is the remedy for a key that only some of the kinds in a sweep have.
const inCaseOfKind = "if a sweep varies the kind, write it in the case with that kind"

// links checks the links and learns the endpoints for the checks that follow.
func (c *checker) links() {
	first := map[string]int{}
	for i, link := range c.e.Topology.Links {
		at := linkSteps(i)
		if other, twice := first[link.Name]; twice {
			c.fail(fmt.Sprintf("the name %q is also that of link %d", link.Name, other), "", "give each link its own name", under(at, "name")...)
		} else {
			first[link.Name] = i
		}
		for j, endpoint := range link.Endpoints {
			c.endpoint(endpoint, i, under(at, "endpoints", strconv.Itoa(j)))
		}
		c.linkOfKind(link, at)
	}
}

// linkOfKind checks what depends on the kind of a link.
func (c *checker) linkOfKind(link *Link, at []string) {
	c.endpointCount(link, at)
	if most := link.Kind.Descriptor().MostMTU; most > 0 && link.MTU > most {
		c.fail(fmt.Sprintf("an MTU of %d is more than a %s link carries", link.MTU, link.Kind), fmt.Sprintf("at most %d", most), "", under(at, "mtu")...)
	}
	if link.Switch != nil {
		c.linkSwitch(link, under(at, "switch"))
	}
	if link.Parent != "" && !takes("parent")(link.Kind.Descriptor()) {
		c.fail(fmt.Sprintf("a %s link has no parent", link.Kind), "", "remove it, or write kind: "+listedKinds(takes("parent")), under(at, "parent")...)
	}
	switch claims := takes("class")(link.Kind.Descriptor()); {
	case link.Class != "" && !claims:
		c.fail(fmt.Sprintf("a %s link has no class", link.Kind), "", "remove it, or write kind: "+listedKinds(takes("class")), under(at, "class")...)
	case link.Class == "" && claims:
		c.fail(fmt.Sprintf("a %s link needs the class of the ports that its pods claim", link.Kind), "", "add class, such as class: macvlan.nines.dev; kubectl get deviceclasses lists those of the cluster", at...)
	}
	c.offloads(link, "gro", link.GRO, at)
	c.offloads(link, "offloads", len(link.Offloads) > 0, at)
	if slices.Contains(reservedInterfaces, link.Parent) {
		c.fail(fmt.Sprintf("%q cannot carry a macvlan", link.Parent), "", "name an Ethernet interface of the host, or remove the key for a private one", under(at, "parent")...)
	}
}

// offloads refuses a key where the kind of a link has no such offloads to set.
func (c *checker) offloads(link *Link, key string, given bool, at []string) {
	if d := link.Kind.Descriptor(); given && !takes(key)(d) {
		c.failKey(fmt.Sprintf("%s of a %s link cannot be set", key, d.Kind), "on links of kind "+listedKinds(takes(key)), "remove it; "+inCaseOfKind, under(at, key)...)
	}
}

func (c *checker) endpointCount(link *Link, at []string) {
	n, d := len(link.Endpoints), link.Kind.Descriptor()
	switch {
	case d.Pair && n != 2:
		c.fail(fmt.Sprintf("a %s link joins two endpoints, and this one has %d", link.Kind, n), "", UseAnyEnds()+" for more", under(at, "endpoints")...)
	case d.MostEndpoints > 0 && n > d.MostEndpoints:
		c.fail(fmt.Sprintf("%d endpoints on one %s link", n, link.Kind), fmt.Sprintf("at most %d", d.MostEndpoints), "spread them over several links, or use kind: bridge", under(at, "endpoints")...)
	case n > maxLinkEndpoints:
		c.fail(fmt.Sprintf("%d endpoints on one link", n), fmt.Sprintf("at most %d, the ports of a Linux bridge", maxLinkEndpoints), "", under(at, "endpoints")...)
	}
}

func (c *checker) endpoint(endpoint string, link int, at []string) {
	if c.errs.full() {
		return // finding the nearest name costs time
	}
	name, iface := splitEndpoint(endpoint)
	if c.e.Topology.Nodes[name] == nil {
		names := c.nodeNames()
		c.fail(fmt.Sprintf("node %q does not exist", name), listed(names), terminal.DidYouMean(name, names), at...)
		return
	}
	if slices.Contains(reservedInterfaces, iface) {
		c.fail(fmt.Sprintf("%q cannot be an interface's name: the kernel uses it", iface), "", "choose another, such as eth0", at...)
		return
	}
	if other, twice := c.ends[endpoint]; twice {
		c.fail(fmt.Sprintf("%q is already an endpoint of the link %q", endpoint, c.e.Topology.Links[other].Name), "", "an interface has one link; give the node another interface", at...)
		return
	}
	c.ends[endpoint] = link
	c.interfaces[name] = append(c.interfaces[name], iface)
}
