package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// maxSRIOVPorts is the most physical functions that a pair of virtual ones uses: one a side, or one
// for both.
const maxSRIOVPorts = 2

// hardware checks the settings of links of the kinds sriov and passthrough.
func (c *checker) hardware() {
	owner := map[string]string{} // a whole device → the link that has it
	for i, link := range c.e.Topology.Links {
		at := linkSteps(i)
		c.sriov(link, at)
		c.passthrough(link, at, owner)
		if link.Kind.Descriptor().End.IsHardware() {
			c.ownDevices(link)
		}
	}
	c.sharedPorts(owner)
}

// sriov checks the key sriov of a link.
func (c *checker) sriov(link *Link, at []string) {
	s := link.SRIOV
	if s == nil {
		return
	}
	if !takes("sriov")(link.Kind.Descriptor()) {
		c.failKey(fmt.Sprintf("a %s link has no virtual functions to set up", link.Kind), "on links of kind "+listedKinds(takes("sriov")),
			"remove sriov; if a sweep varies the kind, write it in the case with that kind", under(at, "sriov")...)
		return
	}
	if n := len(s.Ports); n > maxSRIOVPorts {
		c.fail(fmt.Sprintf("%d ports", n), "two ports joined by a cable, or one port", "", under(at, "sriov", "ports")...)
	}
	if len(s.Ports) == maxSRIOVPorts && sameDevice(s.Ports[0], s.Ports[1]) {
		c.fail(fmt.Sprintf("%q twice: no cable joins a port to itself", s.Ports[1]), "",
			"name the port at the cable's other end, or the one port alone, whose own switch joins both functions", under(at, "sriov", "ports", "1")...)
	}
}

// passthrough checks the key passthrough of a link, and that no other link has its devices.
func (c *checker) passthrough(link *Link, at []string, owner map[string]string) {
	p, can := link.Passthrough, takes("passthrough")(link.Kind.Descriptor())
	switch {
	case p == nil && can:
		c.fail("the link names no devices", "", "write passthrough: {devices: [enp1s0f0, enp1s0f1]}, one for each endpoint", at...)
		return
	case p == nil:
		return
	case !can:
		c.failKey(fmt.Sprintf("a %s link does not support whole devices", link.Kind), "on links of kind "+listedKinds(takes("passthrough")),
			"remove passthrough; if a sweep varies the kind, write it in the case with that kind", under(at, "passthrough")...)
		return
	}
	if n := len(p.Devices); n != len(link.Endpoints) {
		c.fail(fmt.Sprintf("%d devices for %d endpoints", n, len(link.Endpoints)), "one for each endpoint, in their order", "", under(at, "passthrough", "devices")...)
	}
	for i, device := range p.Devices {
		key := strings.ToLower(device)
		if other, taken := owner[key]; taken {
			c.fail(fmt.Sprintf("%q is already used by the link %q", device, other), "", "a whole device has one endpoint; virtual functions (kind: sriov) share a port",
				under(at, "passthrough", "devices", strconv.Itoa(i))...)
			continue
		}
		owner[key] = link.Name
	}
}

// ownDevices refuses a device in dpdk.device for an endpoint whose link already is a PCI function.
func (c *checker) ownDevices(link *Link) {
	if c.e.DPDK == nil {
		return
	}
	for _, endpoint := range link.Endpoints {
		if _, given := c.e.DPDK.Device[endpoint]; given {
			c.failKey(fmt.Sprintf("the %s link %q brings %q its device", link.Kind, link.Name, endpoint), "",
				"remove it, or use another kind of link", "dpdk", "device", endpoint)
		}
	}
}

// sharedPorts refuses ports that another link uses as whole devices, and one VLAN for two links on
// a port.
func (c *checker) sharedPorts(owner map[string]string) {
	vlans := map[string]string{} // "port vlan" → the link that has it
	for i, link := range c.e.Topology.Links {
		if link.SRIOV == nil || !takes("sriov")(link.Kind.Descriptor()) {
			continue
		}
		at := under(linkSteps(i), "sriov")
		for j, port := range link.SRIOV.Ports {
			if other, taken := owner[strings.ToLower(port)]; taken {
				c.fail(fmt.Sprintf("%q is used as a whole by the link %q", port, other), "", "name another port", under(at, "ports", strconv.Itoa(j))...)
			}
			if link.SRIOV.VLAN == 0 {
				continue
			}
			key := fmt.Sprint(strings.ToLower(port), " ", link.SRIOV.VLAN)
			if other, taken := vlans[key]; taken && other != link.Name {
				c.fail(fmt.Sprintf("VLAN %d of %q is also the VLAN of the link %q: their packets would mix", link.SRIOV.VLAN, port, other), "",
					"give each link its own, or remove vlan to let nines choose", under(at, "vlan")...)
				break
			}
			vlans[key] = link.Name
		}
	}
}

// sameDevice compares two devices as they are written; only a host knows whether an interface's
// name and a PCI address mean the same function.
func sameDevice(a, b string) bool { return strings.EqualFold(a, b) }
