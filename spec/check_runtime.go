package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// minVMMemory is the least with which Debian's kernel and the engine start.
const minVMMemory = 192 << 20

// inCase is what to do about a key that only some of the runtimes in a sweep have.
const inCase = "where a sweep varies the runtime, write it in the case that has it"

// runtime checks what goes with a node's runtime.
func (c *checker) runtime(n *Node, at []string) {
	if n.VM != nil && n.Runtime != RuntimeVM {
		c.failKey(fmt.Sprintf("a %s node is no virtual machine", n.Runtime), "on nodes with runtime: vm", "take vm away; "+inCase, under(at, "vm")...)
	}
	switch n.Runtime {
	case RuntimeHost:
		c.hostNode(n, at)
	case RuntimeVM:
		c.vmNode(n, at)
	case RuntimeNetns, RuntimeLXC:
	}
}

// hostNode refuses what needs a container.
func (c *checker) hostNode(n *Node, at []string) {
	const remedy = "take it away, or write runtime: netns; " + inCase
	if n.Memory > 0 {
		c.failKey("a host node has no control group that could limit its memory", "", remedy, under(at, "memory")...)
	}
	if n.HugepageLimit > 0 {
		c.failKey("a host node has no control group that could limit its hugepages", "", remedy, under(at, "hugepage_limit")...)
	}
	if len(n.Mounts) > 0 {
		c.failKey("a host node sees the host's files as they are", "", remedy, under(at, "mounts")...)
	}
	for _, key := range sortedKeys(n.Sysctls) {
		if !strings.HasPrefix(key, "net.") && !strings.HasPrefix(key, "net/") {
			c.failKey(fmt.Sprintf("a host node has only a network of its own, and %q would change the host", clip(key)), "net.*", remedy, under(at, "sysctls", key)...)
		}
	}
}

// vmNode refuses what a guest cannot have, as its files and its memory are its own.
func (c *checker) vmNode(n *Node, at []string) {
	if n.Memory > 0 && n.Memory < minVMMemory {
		c.fail("too little memory for a guest's kernel and the engine", "192MiB or more", "", under(at, "memory")...)
	}
	if n.HugepageLimit > 0 {
		c.failKey("a virtual machine takes exactly its memory, so that it needs no limit", "", "take it away, and write memory; "+inCase, under(at, "hugepage_limit")...)
	}
	if len(n.Mounts) > 0 {
		c.failKey("a virtual machine sees none of the host's files", "", "take mounts away; nines exec copies files: tar c FOLDER | nines exec NODE -- tar x; "+inCase, under(at, "mounts")...)
	}
}

// isVM is true for an endpoint that is known to be in a virtual machine.
func (c *checker) isVM(endpoint string) bool {
	name, _ := splitEndpoint(endpoint)
	n := c.e.Topology.Nodes[name]
	return n != nil && n.Runtime == RuntimeVM && c.sound("topology", "nodes", name, "runtime")
}

// vmLinks refuses links that a virtual machine cannot join.
func (c *checker) vmLinks() {
	for i, link := range c.e.Topology.Links {
		at, d := under(linkSteps(i), "endpoints"), link.Kind.Descriptor()
		kindKnown, guests := c.soundKeys(linkSteps(i), "kind"), 0
		for j, endpoint := range link.Endpoints {
			here := under(at, strconv.Itoa(j))
			if !c.sound(here...) || !c.isVM(endpoint) {
				continue
			}
			guests++
			if d.Guest == GuestNone && kindKnown {
				c.fail(fmt.Sprintf("%q is in a virtual machine, which cannot join a %s link", endpoint, link.Kind), listedKinds(takesGuests), "choose one of these, or another runtime", here...)
			}
			if c.e.DPDK != nil && c.e.DPDK.Device[endpoint] != "" && c.sound("dpdk", "device", endpoint) {
				c.failKey(fmt.Sprintf("%q is in a virtual machine, where DPDK opens the function that the guest has", endpoint), "", "take it away", "dpdk", "device", endpoint)
			}
		}
		if d.JoinsTaps(guests) && kindKnown && c.sound(at...) {
			c.fail("both ends of a "+string(link.Kind)+" link are in virtual machines, whose tap devices something has to join", "", "use kind: bridge, xdp or switch", at...)
		}
	}
}

// vmTraffic refuses ends whose clocks cannot be compared: a guest's time stamp counter
// has an offset, and under TCG a rate, of its own.
func (c *checker) vmTraffic(t *Traffic) {
	from, _ := splitEndpoint(t.From)
	to, _ := splitEndpoint(t.To)
	if c.isVM(t.From) && t.Packets == PacketsRecord && c.sound("traffic", "packets") {
		c.fail("the packets of an engine in a virtual machine cannot be recorded: it sees none of the host's files", "", "take packets away, or end the traffic in another node", "traffic", "packets")
	}
	if from == to || !c.isVM(t.From) && !c.isVM(t.To) {
		return
	}
	c.fail("one end of the traffic is in a virtual machine, whose time stamp counter is not the other end's", "",
		"end the traffic in a node of the host at both sides and let the machine forward or reflect it, or at two interfaces of the one machine", "traffic")
}
