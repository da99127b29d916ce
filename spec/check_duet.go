package spec

import "fmt"

// checkDuet refuses what two sides cannot be in one lab. Each side is a valid experiment.
func checkDuet(sides []Run, errs *collector) {
	a, b := sides[0], sides[1]
	c := &checker{e: a.Experiment, root: a.tree, errs: errs}
	c.duetTraffic()
	c.duetLab()
	for _, name := range c.nodeNames() {
		at := []string{"topology", "nodes", name}
		one, other := a.Experiment.Topology.Nodes[name], b.Experiment.Topology.Nodes[name]
		if one.Runtime.Descriptor().Remote || other.Runtime.Descriptor().Remote {
			c.fail("a duet needs both sides on this host, and a pod is where its cluster puts it", "", "compare pods by a sweep", under(at, "runtime")...)
		}
		for _, cpus := range [][3]any{
			{"cpus", cpusOf(one.CPUs, one.CPUList), cpusOf(other.CPUs, other.CPUList)},
			{"polling", one.Polling.count(), other.Polling.count()},
		} {
			if cpus[1] != cpus[2] {
				of := ""
				if cpus[0] == "polling" {
					of = " for polling"
				}
				key := &checker{e: b.Experiment, root: b.tree, errs: errs}
				key.fail(fmt.Sprintf("side a has %d CPUs%s and side b %d: the one with more would win by them", cpus[1], of, cpus[2]), "", "give both the same number; which CPUs may differ", under(at, cpus[0].(string))...)
			}
		}
	}
}

// duetTraffic refuses traffic that does not make pairs of packets.
func (c *checker) duetTraffic() {
	t := c.e.Traffic
	switch {
	case t == nil:
		c.fail("a duet measures packets, and the file has no traffic", "", "add traffic: {from: …, to: …, rate_pps: 10000}")
	case !c.e.Method.Plain():
		c.fail("a duet is one trial, and a search makes several", "", "remove method", "method")
	case t.RateOfMaximum > 0, t.PacketsPerSecond() == 0:
		c.fail("a duet sends packets in pairs, one to each side, and needs their rate", "", "write rate_pps: 10000, the rate of each side", "traffic")
	case t.Packets == PacketsRecord:
		c.fail("a duet keeps each packet in its own short form", "", "remove packets", "traffic", "packets")
	}
	if c.e.Repeat > 1 {
		c.fail("a duet is one trial, which lasts until both sides are told apart", "", "remove repeat; duet: {for: …} is the longest", "repeat")
	}
}

// duetLab refuses what belongs to one lab, and cannot tell its sides apart.
func (c *checker) duetLab() {
	for _, refused := range []struct {
		is                   bool
		key, problem, remedy string
	}{
		{c.e.Management != nil, "management", "the names of a duet's nodes have their side (dut@a), which ssh takes for a user", "remove it; 'nines exec' and 'nines shell' reach the nodes"},
		{c.e.Power != nil, "power", "a node that is switched off belongs to one side only", "remove it"},
		{len(c.e.Events) > 0, "events", "what happens to one side in the course of a trial does not happen to the other at the same moment", "remove them, or measure each variant alone"},
		{c.e.HasScripts(), "scripts", "a node's scripts do not know which side they are on", "use exec or services, which run on each side, or measure each variant alone"},
		{c.e.Trace, "trace", "the recorder knows packets by their number, and each side has its own numbers", "remove it, and trace each variant alone"},
		{c.e.DPDK != nil && len(c.e.DPDK.Device) > 0, "dpdk", "a device is there once, and there are two sides", "remove device"},
	} {
		if refused.is {
			c.fail(refused.problem, "", refused.remedy, refused.key)
		}
	}
	for i, link := range c.e.Topology.Links {
		if link.Passthrough != nil {
			c.fail("a device is there once, and there are two sides", "", "use a link of kind: sriov, or of the kernel", under(linkSteps(i), "passthrough")...)
		}
	}
}

// cpusOf is how many CPUs cpus or cpu_list give.
func cpusOf(count int, list string) int {
	if ids, err := ParseCPUList(list); err == nil && list != "" {
		return len(ids)
	}
	return count
}

func (p *Polling) count() int {
	if p == nil {
		return 0
	}
	return cpusOf(p.CPUs, p.CPUList)
}
