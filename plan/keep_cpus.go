package plan

import "slices"

// cpusOf are the CPUs that a node, its polling threads or a link's program have for themselves in the running lab.
func (k *kept) cpusOf(n *node) []int {
	switch {
	case n.link != nil:
		if l := k.Link(n.link.name); l != nil && l.Switch != nil {
			return l.Switch.CPUs
		}
	case n.pollsFor != nil:
		if had := k.Node(n.pollsFor.name); had != nil && had.Receive != nil && had.Receive.CPUsExclusive {
			return had.Receive.CPUs
		}
	default:
		if had := k.Node(n.name); had != nil && had.CPUsExclusive {
			return had.CPUs
		}
	}
	return nil
}

// stays are the CPUs of what runs and keeps them, since the file asks for as many still, even where others would now
// be better: to move is to start again. Those that share at this rung of the ladder move.
func (a *assignment) stays(sharing func(*node) bool) map[*node][]int {
	stay, held := map[*node][]int{}, map[int]bool{}
	for _, n := range a.w.users() {
		cpus := a.before.cpusOf(n)
		isHeld := func(id int) bool { return held[id] }
		if !a.mayKeep(n, cpus) || !n.demand.explicit && sharing(n) || slices.ContainsFunc(cpus, isHeld) {
			continue
		}
		stay[n] = cpus
		for _, id := range cpus {
			held[id] = true
		}
	}
	return stay
}

// keepCPUs lets nodes have the CPUs that they have.
func (a *assignment) keepCPUs(stay map[*node][]int) {
	for n, cpus := range stay {
		for _, id := range cpus {
			coreOf(a.cores, id).give(n, []int{id})
		}
		a.placed[n], a.decided[n] = cpus, "as in the running lab"
	}
	for n, cpus := range stay {
		for _, id := range cpus {
			for _, sibling := range coreOf(a.cores, id).free() {
				coreOf(a.cores, id).idle[sibling] = n.demand.spin && !a.rung.sharePollers
			}
		}
	}
}

// mayKeep is true if the CPUs are as many as a node wants, where it wants them, and nobody has any of them.
func (a *assignment) mayKeep(n *node, cpus []int) bool {
	if len(cpus) == 0 || len(cpus) != n.demand.count || len(n.demand.list) > 0 {
		return false
	}
	if id := n.demand.memoryNode; id >= 0 && !slices.Equal(numaOf(a.w.inv, cpus), []int{id}) {
		return false
	}
	return !slices.ContainsFunc(cpus, func(id int) bool {
		c := coreOf(a.cores, id)
		return c == nil || !slices.Contains(c.free(), id) || slices.Contains(a.before.plan.HousekeepingCPUs, id)
	})
}

// engineCPU is the one of some CPUs that a node's engine has in the running lab; otherwise, where that is none of them.
func (k *kept) engineCPU(n *node, cpus []int, otherwise int) int {
	if cpu, has := k.engines[n.name]; has && slices.Contains(cpus, cpu) {
		return cpu
	}
	return otherwise
}
