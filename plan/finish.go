package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/terminal"
)

// nodesPerHousekeepingCPU is how many nodes share one CPU before housekeeping gets more: chosen so
// that large labs do not queue behind one core.
const nodesPerHousekeepingCPU = 8

// finish writes a successful try into the nodes, and explains it.
func (a *assignment) finish() {
	w := a.w
	a.growHousekeeping()
	rest := a.untaken()
	for _, n := range w.users() {
		switch {
		case n.remote():
			n.cpus = []int{}
			n.explainRemote()
		case slices.Contains(a.onKept, n):
			n.cpus = a.housekeeping
			n.engineCPU = n.cpus[len(n.cpus)-1]
			n.because("too few CPUs: it runs on the housekeeping %s", cpuText(n.cpus))
		case slices.Contains(a.sharing, n):
			n.cpus = rest
			if len(rest) == 0 {
				n.cpus = a.housekeeping
			}
			shared := n.cpus
			if n.demand.engine || n.demand.program {
				n.engineCPU = a.before.engineCPU(n, n.cpus, n.cpus[slices.Index(a.sharing, n)%len(n.cpus)])
				shared = []int{n.engineCPU}
			}
			n.because("too few CPUs: it shares %s with others that need one", cpuText(shared))
		case n.demand.count > 0:
			n.cpus, n.exclusive = a.placed[n], true
			if slices.ContainsFunc(n.cpus, func(id int) bool { return slices.Contains(a.housekeeping, id) }) {
				n.exclusive = false
				w.note("The nodes' cpu_lists name every CPU, so the host's own work runs on %s, beside %s.", cpuText(a.housekeeping), n.title())
			}
			a.explainOwn(n)
		default:
			n.cpus = a.housekeeping
			n.because("it needs no exclusive CPU: it shares the housekeeping %s", cpuText(n.cpus))
		}
	}
	a.notes()
}

// growHousekeeping gives the host all remaining CPUs where no node wants one, and more cores where
// many nodes share.
func (a *assignment) growHousekeeping() {
	sharing, owning := 0, 0
	for _, n := range a.w.users() {
		switch {
		case n.remote():
		case n.demand.count == 0:
			sharing++
		default:
			owning++
		}
	}
	for _, c := range slices.Backward(a.cores) { // away from CPU 0's neighbours, which nodes have
		if owning > 0 && len(a.housekeeping)*nodesPerHousekeepingCPU >= sharing {
			break
		}
		if !c.untouched() || owning > 0 && c.isolated {
			continue
		}
		for _, id := range c.threads {
			c.kept[id] = true
			a.housekeeping = append(a.housekeeping, id)
		}
	}
	if owning == 0 {
		a.housekeeping = append(a.housekeeping, a.untaken()...)
	}
	slices.Sort(a.housekeeping)
	a.housekeeping = slices.Compact(a.housekeeping)
}

// untaken are the CPUs that are not assigned, sorted.
func (a *assignment) untaken() []int {
	list := []int{}
	for _, c := range a.cores {
		list = append(list, c.free()...)
	}
	slices.Sort(list)
	return list
}

// engineOf picks the engine's CPU among a node's own. Where there are several, it is not the first,
// on which the rest of the node runs. It prefers, in this order, a CPU whose core no other node
// uses, an isolated one, and one whose core it has to itself.
func (a *assignment) engineOf(cpus []int) int {
	if len(cpus) == 1 {
		return cpus[0]
	}
	owner := coreOf(a.cores, cpus[0]).user[cpus[0]]
	cost := func(id int) int {
		c := coreOf(a.cores, id)
		alone, ours := true, true
		for _, sibling := range c.threads {
			if sibling != id && (c.user[sibling] != nil || c.kept[sibling]) {
				alone = false
				ours = ours && c.user[sibling] == owner
			}
		}
		return 4*boolToInt(!ours) + 2*boolToInt(!c.isolated) + boolToInt(!alone)
	}
	return slices.MinFunc(cpus[1:], func(x, y int) int { return cost(x) - cost(y) })
}

func (a *assignment) explainOwn(n *node) {
	d := n.demand
	list := cpuText(n.cpus)
	switch {
	case len(d.list) > 0:
		n.because("%s: named by cpu_list", list)
	case d.explicit:
		n.because("%s: %s of its own, as the file asks", list, terminal.Count(d.count, "CPU"))
	case d.program:
		n.because("%s: one of its own, on which it polls", list)
	default:
		n.because("%s: one of its own, for its %s", list, choose(d.engine || len(n.spec.Services) == 0, "engine", "services"))
	}
	if d.engine {
		n.engineCPU = a.before.engineCPU(n, n.cpus, a.engineOf(n.cpus))
		if len(n.cpus) > 1 {
			n.because("CPU %d runs the engine; CPU %d is for everything else in the node", n.engineCPU, n.cpus[0])
		}
	}
	var idle []int
	isolated := 0
	for _, id := range n.cpus {
		c := coreOf(a.cores, id)
		for _, sibling := range c.threads {
			if c.idle[sibling] {
				idle = append(idle, sibling)
			}
		}
		isolated += boolToInt(c.isolated)
	}
	slices.Sort(idle)
	if idle = slices.Compact(idle); len(idle) > 0 {
		n.because("%s on the same %s left idle, as %s polls", cpuText(idle), choose(len(n.cpus) == 1, "core is", "cores are"), choose(d.engine, "the engine", "it"))
	}
	if isolated == len(n.cpus) {
		n.because("the host isolates %s from its scheduler or timer", choose(len(n.cpus) == 1, "it", "them"))
	}
	if nic := d.nic; nic != nil {
		if numas := numaOf(a.w.inv, n.cpus); slices.Equal(numas, []int{nic.NUMANode}) {
			n.because("on NUMA node %d, beside %s", nic.NUMANode, nic.Name)
		} else {
			n.because("on NUMA %s; its %s is on node %d", numaText(numas), nic.Name, nic.NUMANode)
		}
	} else if why := a.decided[n]; why != "" && d.memoryNode < 0 && len(a.w.inv.NUMANodes) > 1 {
		n.because("on NUMA %s, %s", numaText(numaOf(a.w.inv, n.cpus)), why)
	}
}

// cpuText names CPUs in a sentence: "CPU 3", "CPUs 0-1".
func cpuText(cpus []int) string {
	return choose(len(cpus) == 1, "CPU ", "CPUs ") + cpulist.Format(cpus)
}

// numaText names NUMA nodes in a sentence: "node 1", "nodes 0-1".
func numaText(nodes []int) string {
	return choose(len(nodes) == 1, "node ", "nodes ") + cpulist.Format(nodes)
}

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// notes says what a reader should know about the plan as a whole.
func (a *assignment) notes() {
	w := a.w
	usable := w.usable()
	if online := countOnline(w.inv); online > len(usable) {
		w.note("The host has %d CPUs online; this process may use %s.", online, cpulist.Format(usable))
	}
	if len(a.onKept) > 0 {
		untouched := ""
		if len(a.placed) > 0 {
			untouched = " Nodes with CPUs of their own are not affected."
		}
		w.note("Too few CPUs: %s on the housekeeping %s, beside the host's own work, which delays packets at times.%s",
			runs(a.onKept), cpuText(a.housekeeping), untouched)
	}
	if len(a.sharing) > 0 {
		w.note("Too few CPUs: %s share CPUs, so they wait for one another.", a.sharingText())
	}
	for _, c := range a.cores {
		a.noteSharedCore(c)
	}
	w.noteCrossings()
}

// noteSharedCore says where two nodes have threads of one core.
func (a *assignment) noteSharedCore(c *core) {
	var users []string
	poller := false
	for _, id := range c.threads {
		n := c.user[id]
		switch {
		case n != nil:
			if !slices.Contains(users, n.name) {
				users = append(users, n.name)
			}
			poller = poller || n.demand.spin
		case c.kept[id]:
			if !slices.Contains(users, "housekeeping") {
				users = append(users, "housekeeping")
			}
		}
	}
	if len(users) < 2 {
		return
	}
	slowed := "slow each other down"
	if poller {
		slowed = "slow each other down, the more as one polls"
	}
	a.w.note("Too few cores: %s share a physical core (CPUs %s) and %s.", strings.Join(users, " and "), cpulist.Format(c.threads), slowed)
}

// noteCrossings says which links join CPUs of different NUMA nodes.
func (w *work) noteCrossings() {
	for _, n := range w.users() {
		if numas := numaOf(w.inv, n.cpus); n.exclusive && len(numas) > 1 {
			why := "as none has enough for it"
			if len(n.demand.list) > 0 {
				why = "as its cpu_list says"
			}
			w.note("%s has CPUs on NUMA nodes %s, %s.", n.title(), cpulist.Format(numas), why)
		}
	}
	for _, l := range w.links {
		if !w.onPath(l) {
			continue
		}
		var numas []int
		for _, e := range l.endpoints {
			if e.node.exclusive {
				numas = append(numas, numaOf(w.inv, e.node.cpus)...)
			}
		}
		if l.program != nil && l.program.exclusive {
			numas = append(numas, numaOf(w.inv, l.program.cpus)...)
		}
		if nic := w.parentNIC(l); nic != nil && nic.NUMANode >= 0 {
			numas = append(numas, nic.NUMANode)
		}
		for _, e := range l.endpoints {
			if f := e.function; f.Address != "" && f.NUMANode >= 0 {
				numas = append(numas, f.NUMANode)
			}
		}
		slices.Sort(numas)
		if numas = slices.Compact(numas); len(numas) > 1 {
			w.note("link %s crosses NUMA nodes %s, which adds about 1.7 µs (Emmerich et al.).", l.name, cpulist.Format(numas))
		}
	}
}

func countOnline(inv *host.Inventory) int {
	count := 0
	for _, c := range inv.CPUs {
		count += boolToInt(c.Online)
	}
	return count
}

// names lists some nodes, and counts the rest.
func names(nodes []*node) string {
	const most = 5
	var list []string
	for _, n := range nodes {
		if len(list) == most {
			list = append(list, fmt.Sprintf("%d more", len(nodes)-most))
			break
		}
		list = append(list, n.name)
	}
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

func runs(nodes []*node) string {
	return names(nodes) + choose(len(nodes) == 1, " runs", " run")
}

// sharingText names the engines and link programs that share the remaining CPUs.
func (a *assignment) sharingText() string {
	sharing := slices.Clone(a.sharing)
	slices.SortStableFunc(sharing, func(x, y *node) int { return boolToInt(x.link != nil) - boolToInt(y.link != nil) })
	if sharing[0].link != nil {
		return names(sharing)
	}
	what := "engines"
	if slices.ContainsFunc(sharing, func(n *node) bool { return len(n.spec.Services) > 0 }) {
		what = "engines and services"
	}
	return "the " + what + " of " + names(sharing)
}
