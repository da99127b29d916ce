package spec

import "fmt"

// RealTime is true for the policies that run before all ordinary threads, sched(7).
func (p SchedulingPolicy) RealTime() bool { return p == SchedulingFIFO || p == SchedulingRR }

// niced is true for the policies that weigh threads by their nice value: all of sched(7) but the
// real-time ones, and idle, whose weight is fixed.
func (p SchedulingPolicy) niced() bool { return p == SchedulingOther || p == SchedulingBatch }

// scheduling checks a node's policy, and that something has it.
func (c *checker) scheduling(name string, n *Node, at []string) {
	s := n.Scheduling
	if s == nil {
		return
	}
	at = under(at, "scheduling")
	c.policy(s, at)
	if !c.schedules(name, n) {
		c.fail("nines starts no process in the node that could use it", "",
			"remove scheduling; the kernel's own forwarding (route) runs in interrupts, which have no scheduling policy", at...)
	}
}

// policy checks that a policy has the right one of priority and nice. The kernel silently accepts
// wrong pairs: it ignores the nice value of a FIFO thread.
func (c *checker) policy(s *Scheduling, at []string) {
	given := c.root.at(at)
	switch {
	case s.Policy.RealTime() && given.get("priority") == nil:
		c.fail(fmt.Sprintf("%s needs a priority", s.Policy), "1 to 99",
			"write priority: 1; the lowest is above all ordinary work, and below the kernel's own threads", at...)
	case !s.Policy.RealTime() && given.get("priority") != nil:
		c.fail(fmt.Sprintf("%s has no priority", s.Policy), "",
			"remove it, or write policy: fifo", under(at, "priority")...)
	}
	if given.get("nice") != nil && !s.Policy.niced() {
		c.fail(fmt.Sprintf("%s has no niceness: the kernel would ignore it", s.Policy), "",
			"remove it, or write policy: other", under(at, "nice")...)
	}
}

// schedules is true for a node in which nines starts something that gets the policy: an engine, the
// commands of exec, services, or a virtual machine's CPUs.
func (c *checker) schedules(name string, n *Node) bool {
	if n.Runtime.Descriptor().Guest || len(n.Exec) > 0 || len(n.Services) > 0 || n.App.Handling().HasEngine() {
		return true
	}
	if c.e.Traffic == nil {
		return false
	}
	from, _ := splitEndpoint(c.e.Traffic.From)
	to, _ := splitEndpoint(c.e.Traffic.To)
	return name == from || name == to
}

// String is the policy with what belongs to it, "fifo 50" or "other, nice -5".
func (s *Scheduling) String() string {
	switch {
	case s.Policy.RealTime():
		return fmt.Sprintf("%s %d", s.Policy, s.Priority)
	case s.Policy.niced():
		return fmt.Sprintf("%s, nice %d", s.Policy, s.Nice)
	}
	return string(s.Policy)
}
