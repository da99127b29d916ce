package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// isolation is the degree of isolation that the experiment asks for.
func (w *work) isolation() spec.Isolation {
	if w.exp.Isolation == "" {
		return spec.IsolationAffinity
	}
	return w.exp.Isolation
}

// Partitions is true for the degrees that keep other processes off the nodes' CPUs.
func Partitions(i spec.Isolation) bool {
	return i == spec.IsolationPartition || i == spec.IsolationIsolated
}

// unpin drops the demands of nodes where nothing is pinned: the plan then places only the programs
// of links, which poll and need explicit CPUs.
func (w *work) unpin() {
	if w.isolation() != spec.IsolationNone {
		return
	}
	for _, n := range w.nodes {
		d := &n.demand
		d.list, d.count, d.explicit, d.memoryNode = nil, 0, false, -1
	}
}

// isolate decides which CPUs are isolated, and how far.
func (w *work) isolate() error {
	switch w.isolation() {
	case spec.IsolationNone:
		w.spread()
	case spec.IsolationPartition, spec.IsolationIsolated:
		return w.partition()
	}
	return nil
}

// spread lets all nodes run on all usable CPUs, and their engines where the scheduler puts them, as
// in the thesis's measurements with --lxc-disable-isolation.
func (w *work) spread() {
	ignored := false
	for _, n := range w.nodes {
		if n.remote() {
			continue
		}
		n.cpus, n.exclusive, n.engineCPU = w.usable(), false, -1
		n.why = []string{fmt.Sprintf("isolation is none: the scheduler places it on any of %s", cpuText(n.cpus))}
		ignored = ignored || n.spec.CPUs > 0 || n.spec.CPUList != "" || n.spec.MemoryNode != nil
	}
	const none = "isolation is none: nothing is pinned, and nodes and engines share the CPUs with everything else on the host"
	if ignored {
		w.note("%s; cpus, cpu_list and memory_node have no effect now.", none)
	} else {
		w.note("%s.", none)
	}
	for _, l := range w.links {
		if l.program != nil && l.program.demand.count > 0 {
			w.note("link %s: its program polls and is pinned to %s.", l.name, cpuText(l.program.cpus))
		}
	}
	for _, n := range w.nodes {
		if n.pollers != nil {
			w.note("%s: its polling threads are pinned to %s.", n.title(), cpuText(n.pollers.cpus))
		}
	}
}

// partition finds the CPUs for a partition: those that a node has for itself, and their siblings
// that the plan leaves idle.
func (w *work) partition() error {
	degree := w.isolation()
	var without []*node
	for _, n := range w.nodes {
		switch {
		case n.exclusive && n.byAffinity():
		case n.exclusive:
			n.isolated = true
			w.isolated = append(w.isolated, n.cpus...)
			w.isolated = append(w.isolated, w.idleBeside(n)...)
		case n.demand.engine || n.demand.count > 0:
			without = append(without, n)
		}
	}
	slices.Sort(w.isolated)
	w.isolated = slices.Compact(w.isolated)
	if len(w.isolated) == 0 && !slices.ContainsFunc(w.nodes, func(n *node) bool { return n.exclusive }) {
		return at(w.nothingToIsolate(degree), []string{"isolation"})
	}
	for _, n := range w.nodes {
		if n.isolated && degree == spec.IsolationPartition {
			n.because("no other processes run there: a partition")
		} else if n.isolated {
			n.because("isolated: no other processes, load balancing, device interrupts or movable kernel threads there")
		}
	}
	if len(without) > 0 {
		w.note("isolation is %s, but Too few CPUs: %s on %s with the host's own work, so %s not isolated; the others are.",
			degree, runs(without), cpuText(without[0].cpus), choose(len(without) == 1, "it is", "they are"))
	}
	w.keepProgramsQuiet(degree)
	w.keepNodesQuiet(degree)
	w.keepPollersQuiet(degree)
	if degree == spec.IsolationIsolated {
		w.noteWhatStays()
	}
	return nil
}

// idleBeside are the unassigned siblings of a poller's CPUs.
func (w *work) idleBeside(n *node) []int {
	var idle []int
	for _, id := range n.cpus {
		c := coreOf(w.cpus.cores, id)
		for _, sibling := range c.threads {
			if c.idle[sibling] {
				idle = append(idle, sibling)
			}
		}
	}
	return idle
}

// nothingToIsolate is the refusal of an isolation that would have no effect.
func (w *work) nothingToIsolate(degree spec.Isolation) error {
	usable := len(w.usable())
	demand := fmt.Sprintf("isolation: %s needs a CPU of its own", degree)
	if usable < 2 {
		return &Impossible{demand, fmt.Sprintf("the host has %s that this process may use, which is for housekeeping", terminal.Count(usable, "CPU")),
			"use a host with two or more, or --set isolation=none"}
	}
	for _, n := range w.nodes {
		if len(n.demand.list) > 0 {
			return &Impossible{demand, "the nodes' cpu_lists name every CPU, and one of them is the host's too",
				"leave one CPU out of them, or --set isolation=affinity"}
		}
	}
	for _, n := range w.nodes {
		if n.demand.engine {
			return &Impossible{demand, fmt.Sprintf("the host has %d, and its engines share the housekeeping %s", usable, cpuText(w.cpus.housekeeping)),
				fmt.Sprintf("give one node the other (--set nodes.%s.cpus=1), use a host with more CPUs, or --set isolation=affinity", n.name)}
		}
	}
	return &Impossible{demand, "no node asks for one", "give a node cpus: 1, or --set isolation=affinity"}
}

// keepProgramsQuiet says how the programs of links are isolated. A cpuset applies to a whole
// process (in cgroup v2 without threaded groups), and each program has threads on the housekeeping
// CPUs besides its polling ones.
func (w *work) keepProgramsQuiet(degree spec.Isolation) {
	for _, l := range w.links {
		p := l.program
		if p == nil || !p.exclusive || len(p.cpus) == 0 {
			continue
		}
		off := ""
		if degree == spec.IsolationIsolated {
			w.quiet = append(w.quiet, p.cpus...)
			off = "; interrupts and kernel threads keep off it"
		}
		w.note("link %s: its program is kept on %s by affinity only, as its other threads are on the housekeeping CPUs%s.", l.name, cpuText(p.cpus), off)
	}
	slices.Sort(w.quiet)
}

// byAffinity is true for a node that is in no cpuset: the bare host, and a virtual machine, as only
// its vCPU threads belong on the node's CPUs.
func (n *node) byAffinity() bool { return n.spec.Runtime.Descriptor().Groups == spec.Ungrouped }

// keepNodesQuiet isolates the nodes without a cpuset in the same way as the programs of links.
func (w *work) keepNodesQuiet(degree spec.Isolation) {
	for _, n := range w.nodes {
		if !n.exclusive || !n.byAffinity() {
			continue
		}
		off := ""
		if degree == spec.IsolationIsolated {
			w.quiet = append(w.quiet, n.cpus...)
			off = "; interrupts and kernel threads keep off it"
		}
		n.because("a %s node is kept on its CPUs by affinity only, without a partition%s", n.spec.Runtime, off)
	}
	slices.Sort(w.quiet)
}

// noteWhatStays names the kernel's work on isolated CPUs that no setting at run time removes.
func (w *work) noteWhatStays() {
	var ticking []int
	for _, id := range w.isolated {
		if cpu, err := w.inv.CPU(id); err == nil && !cpu.NoHzFull {
			ticking = append(ticking, id)
		}
	}
	if len(ticking) > 0 {
		w.note("The timer still ticks on %s, and RCU's callbacks run there: only the boot parameters nohz_full=%s and rcu_nocbs remove them (nines tune plan).",
			cpuText(ticking), cpulist.Format(ticking))
	}
	w.note("Per-CPU kernel threads (ksoftirqd, migration, cpuhp, bound kworkers) stay on %s, and run when something on that CPU needs them.", cpuText(w.isolated))
}

// limitHugepages decides how many hugepages each node may have: what the file says, or what its
// engine takes.
func (w *work) limitHugepages() error {
	for _, n := range w.nodes {
		limit := int64(n.spec.HugepageLimit)
		size := w.pageBytes()
		if limit > 0 && size == 0 {
			return at(&Impossible{n.title() + " limits hugepages", "this kernel has no hugepages (CONFIG_HUGETLBFS)", "remove hugepage_limit"}, n.steps("hugepage_limit"))
		}
		if n.guest() { // it takes all its memory at the start
			continue
		}
		if n.dpdk != nil && n.dpdk.Huge {
			takes := (n.dpdk.MemoryBytes + size - 1) / size * size
			if limit > 0 && limit < takes {
				remedy := "raise it"
				if limit >= max(w.leastMemory(n), leastEngineMemory) {
					remedy += fmt.Sprintf(", or use less (--set dpdk.memory=%dMiB)", limit>>20)
				}
				return at(&Conflict{n.title(), fmt.Sprintf("hugepage_limit is %s, and its engine needs %s", terminal.MiB(limit), terminal.MiB(takes)), remedy}, n.steps("hugepage_limit"))
			}
			if limit == 0 {
				limit = takes
			}
		}
		if limit > 0 {
			n.hugepageBytes, n.hugepageSize = limit, size
		}
	}
	return nil
}
