package spec

import (
	"fmt"
	"maps"
	"slices"

	"nines.dev/nines/terminal"
)

// Polls is true for the receive modes that have threads of their own.
func (r Receive) Polls() bool { return r == ReceiveThreaded || r == ReceiveBusyPoll }

// NeedsNAPI is true for the receive modes that act on a device's NAPI instances, not on CPUs.
func (r Receive) NeedsNAPI() bool { return r.Polls() || r == ReceiveSuspend }

// ReceiveOf is how the kernel gets packets from an interface: the link's rx, else its node's, else
// by interrupts.
func (e *Experiment) ReceiveOf(link *Link, node, iface string) Receive {
	if own := link.RX[node+":"+iface]; own != "" {
		return own
	}
	if n := e.Topology.Nodes[node]; n != nil && n.RX != "" {
		return n.RX
	}
	return ReceiveInterrupt
}

// linkReceive checks the key rx of links.
func (c *checker) linkReceive() {
	for i, link := range c.e.Topology.Links {
		for _, endpoint := range slices.Sorted(maps.Keys(link.RX)) {
			at := under(linkSteps(i), "rx", endpoint)
			if !slices.Contains(link.Endpoints, endpoint) {
				c.failKey(fmt.Sprintf("%q is not an endpoint of the link", clip(endpoint)), terminal.Listed(link.Endpoints), terminal.DidYouMean(endpoint, link.Endpoints), at...)
				continue
			}
			c.received(endpoint, link, link.RX[endpoint], at)
		}
	}
}

// nodeReceive checks the keys rx and polling of a node.
func (c *checker) nodeReceive(name string, n *Node, at []string) {
	if n.RX != "" && n.RX != ReceiveInterrupt {
		here := under(at, "rx")
		if len(c.interfaces[name]) == 0 {
			c.fail(fmt.Sprintf("%q has no interface", name), "", "join the node to a link, or remove rx", here...)
		}
		for _, iface := range c.interfaces[name] {
			endpoint := name + ":" + iface
			link := c.e.Topology.Links[c.ends[endpoint]]
			if own := link.RX[endpoint]; own != "" {
				continue // the link's rx applies, and was checked
			}
			c.received(endpoint, link, n.RX, here)
		}
	}
	if n.Polling != nil {
		c.pollers(n, under(at, "polling"))
	}
}

// received refuses receive modes that an endpoint cannot have on any host.
func (c *checker) received(endpoint string, link *Link, way Receive, at []string) {
	name, _ := splitEndpoint(endpoint)
	n := c.e.Topology.Nodes[name]
	if way == "" || way == ReceiveInterrupt || n == nil {
		return
	}
	guest := n.Runtime.Descriptor().Guest // with a kernel of its own, whose devices all have NAPI
	switch {
	case guest && c.byDPDK[endpoint], !guest && c.pastKernel(endpoint, link):
		c.fail(fmt.Sprintf("DPDK opens %q and polls it itself: no kernel receives there", endpoint), "interrupt",
			"remove rx, or use another backend; "+inCaseOf("the backend"), at...)
	case way.NeedsNAPI() && !guest && !link.Kind.Descriptor().End.HasNAPI():
		c.fail(fmt.Sprintf("%q is a %s, which has no NAPI instance: its parent receives its packets", endpoint, link.Kind),
			"interrupt, awake", "use kind: veth or bridge, or rx: awake; "+inCaseOf("the kind"), at...)
	}
}

// inCaseOf is the remedy for a key that only some runs of a sweep have.
func inCaseOf(what string) string {
	return fmt.Sprintf("if a sweep varies %s, write it in the case with that value", what)
}

// pastKernel is true for an endpoint whose packets certainly bypass the kernel: one of DPDK, unless
// DPDK opens a kernel device (af_packet, af_xdp).
func (c *checker) pastKernel(endpoint string, link *Link) bool {
	d := link.Kind.Descriptor()
	if d.End == EndNone {
		return true
	}
	if !c.byDPDK[endpoint] {
		return false
	}
	if d.DPDK == DPDKAtEnd && !d.End.IsHardware() {
		return c.e.DPDK != nil && c.e.DPDK.Device[endpoint] != ""
	}
	return true
}

// pollers checks the settings of polling threads.
func (c *checker) pollers(n *Node, at []string) {
	p := n.Polling
	if p.CPUs > 0 && p.CPUList != "" {
		c.fail("cpus and cpu_list exclude each other", "", "keep cpu_list to name the CPUs, or cpus to let nines choose", under(at, "cpu_list")...)
	}
	own := cpuList(n.CPUList)
	if i := slices.IndexFunc(cpuList(p.CPUList), func(cpu int) bool { return slices.Contains(own, cpu) }); i >= 0 {
		c.fail(fmt.Sprintf("CPU %d is in the node's own cpu_list too", cpuList(p.CPUList)[i]), "",
			"remove it from one; without cpus and cpu_list the threads share the node's CPUs", under(at, "cpu_list")...)
	}
	if p.Scheduling != nil {
		c.policy(p.Scheduling, under(at, "scheduling"))
	}
}

// OwnCPUs is how many CPUs the threads have for themselves; with 0 they share the node's.
func (p *Polling) OwnCPUs() int {
	if p == nil {
		return 0
	}
	if p.CPUList == "" {
		return p.CPUs
	}
	return len(cpuList(p.CPUList))
}
