package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"nines.dev/nines/terminal"
)

// polling refuses values of wait and io that DPDK's drivers do not support at these endpoints.
func (c *checker) polling(backend Backend, io IO, wait Wait, endpoints []string, at ...string) {
	if backend != BackendDPDK {
		return
	}
	switch silent := slices.IndexFunc(endpoints, func(e string) bool { return !c.wakes(e) }); {
	case wait == WaitBusyPoll:
		c.fail("the backend dpdk does not support wait: busy_poll: the kernel, which would poll, has no part in it",
			"spin or block", "remove wait", under(at, "wait")...)
	case wait == WaitAuto:
		c.fail("the backend dpdk does not support wait: auto: many of its drivers poll always", "spin or block", "remove wait", under(at, "wait")...)
	case wait == WaitBlock && silent >= 0:
		c.fail(fmt.Sprintf("the backend dpdk does not support wait: block at %q: the driver there polls, and nothing wakes a sleeping thread", endpoints[silent]),
			"spin; block on links of kind "+listedKinds((*LinkDescriptor).WakesDPDK), "remove wait", under(at, "wait")...)
	}
	if io != IOBatch {
		c.fail(fmt.Sprintf("the backend dpdk does not support io: %s: its drivers move bursts", io), "batch", "remove io; burst: 1 sends packets one by one", under(at, "io")...)
	}
}

// wakes is false for an endpoint whose driver of DPDK cannot wake a sleeping thread.
func (c *checker) wakes(endpoint string) bool {
	link, known := c.ends[endpoint]
	return !known || c.e.WakesDPDK(c.e.Topology.Links[link], endpoint)
}

// memifs refuses memif links where an end does not use DPDK.
func (c *checker) memifs() {
	for i, link := range c.e.Topology.Links {
		if link.Kind.Descriptor().End != EndNone {
			continue
		}
		for j, endpoint := range link.Endpoints {
			if !c.byDPDK[endpoint] {
				c.fail(fmt.Sprintf("%s joins engines with the backend dpdk, and none uses %q", link.Kind, endpoint), "",
					"use backend: dpdk for the traffic or the app there, or kind: veth", under(linkSteps(i), "endpoints", strconv.Itoa(j))...)
			}
		}
	}
}

// dpdkEndpoints lists the endpoints that an engine opens with the backend dpdk.
func (c *checker) dpdkEndpoints() map[string]bool {
	used := map[string]bool{}
	if t := c.e.Traffic; t != nil && t.Backend == BackendDPDK {
		used[t.From], used[t.To] = true, true
	}
	for name, n := range c.e.Topology.Nodes {
		if n.App == nil || n.App.Backend != BackendDPDK {
			continue
		}
		// The plan decides which of its interfaces a reflector uses.
		for _, endpoint := range c.endpointsOf(name) {
			used[endpoint] = true
		}
	}
	return used
}

// endpointsOf are the endpoints of a node.
func (c *checker) endpointsOf(name string) []string {
	var all []string
	for _, iface := range c.interfaces[name] {
		all = append(all, name+":"+iface)
	}
	return all
}

// linkSwitch checks the settings of a link's program.
func (c *checker) linkSwitch(link *Link, at []string) {
	s := link.Switch
	program := link.Kind.Descriptor().Program
	if program == nil {
		c.fail(fmt.Sprintf("a %s link has no program to set up", link.Kind), "on links of kind "+listedKinds(hasProgram),
			"remove switch; "+inCaseOfKind, at...)
		return
	}
	given := c.root.at(at)
	if given.get("cpus") != nil && given.get("cpu_list") != nil {
		c.fail("cpus and cpu_list exclude each other", "", "keep cpu_list to name the CPUs, or cpus to let nines choose", under(at, "cpu_list")...)
	}
	count, from := s.CPUs, "cpus"
	if s.CPUList != "" {
		count, from = len(cpuList(s.CPUList)), "cpu_list"
	}
	if most := program.MostCPUs; most > 0 && count > most {
		c.fail(fmt.Sprintf("%s polls on at most %d, and this is %d", link.Kind, most, count), "", "", under(at, from)...)
	}
	c.kindKeys(link, given, at)
	if s.Forwarding == ForwardingFlows && len(link.Endpoints) != 2 {
		c.fail(fmt.Sprintf("flows lead from one endpoint to the other, and this link has %d", len(link.Endpoints)), "", "use forwarding: normal", under(at, "forwarding")...)
	}
	c.switchPorts(link, under(at, "ports"))
}

// Limits of the engine's switch (engine/switch/switch.h).
const (
	maxSwitchPorts      = 64
	maxSwitchCPUs       = 16
	maxSwitchStaticMACs = 64 // per port
	maxSwitchFrameBytes = 9216
)

// kindKeys refuses keys that belong to another kind's program.
func (c *checker) kindKeys(link *Link, given *node, at []string) {
	for _, key := range keysOf(reflect.TypeFor[Switch]()) {
		owners := kindsThat(tunes(key))
		if given.get(key) == nil || len(owners) == 0 || slices.Contains(owners, link.Kind) || c.isDefault(given, key) {
			continue
		}
		own := append([]string{"cpus", "cpu_list"}, link.Kind.Descriptor().Program.Keys...)
		c.failKey(fmt.Sprintf("%s has no %s", link.Kind, key), "keys of "+string(link.Kind)+": "+terminal.Listed(own),
			fmt.Sprintf("remove it, or write kind: %s", owners[0]), under(at, key)...)
	}
}

// isDefault is true for a key that repeats its default: an experiment that nines writes contains
// every default.
func (c *checker) isDefault(given *node, key string) bool {
	return rules["Switch."+key].byDefault != "" && given.get(key).text == rules["Switch."+key].byDefault
}

// switchPorts checks the ports of the kind switch.
func (c *checker) switchPorts(link *Link, at []string) {
	behind := map[string]string{} // MAC and VLAN → port
	for _, endpoint := range slices.Sorted(maps.Keys(link.Switch.Ports)) {
		port := link.Switch.Ports[endpoint]
		here := under(at, endpoint)
		if !slices.Contains(link.Endpoints, endpoint) {
			c.failKey(fmt.Sprintf("%q is not an endpoint of the link", clip(endpoint)), terminal.Listed(link.Endpoints), terminal.DidYouMean(endpoint, link.Endpoints), here...)
		}
		seen := map[int]bool{}
		for i, vlan := range port.Trunk {
			switch {
			case vlan == port.VLAN:
				c.fail(fmt.Sprintf("VLAN %d cannot leave a port both tagged and untagged", vlan), "", "keep it as vlan or in trunk", under(here, "trunk", strconv.Itoa(i))...)
			case seen[vlan]:
				c.fail(fmt.Sprintf("VLAN %d is listed twice", vlan), "", "keep it once", under(here, "trunk", strconv.Itoa(i))...)
			}
			seen[vlan] = true
		}
		if n := len(port.MACs); n > maxSwitchStaticMACs {
			c.fail(fmt.Sprintf("%d addresses behind one port", n), fmt.Sprintf("at most %d", maxSwitchStaticMACs), "", under(here, "macs")...)
		}
		for i, text := range port.MACs {
			c.staticMAC(endpoint, port, text, behind, under(here, "macs", strconv.Itoa(i)))
		}
	}
}

// staticMAC checks that an address is a unicast address, and behind one port of each VLAN.
func (c *checker) staticMAC(endpoint string, port *SwitchPort, text string, behind map[string]string, at []string) {
	mac, ok := c.mac(text, at)
	if !ok {
		return
	}
	for _, vlan := range append(slices.Clone(port.Trunk), port.VLAN) {
		if vlan == 0 && len(port.Trunk) > 0 {
			continue // the port takes no untagged frames
		}
		key := fmt.Sprint(mac, " ", vlan)
		if other, taken := behind[key]; taken {
			c.fail(fmt.Sprintf("%s is already behind the port %s", mac, other), "", "an address is behind one port", at...)
			return
		}
		behind[key] = endpoint
	}
}
