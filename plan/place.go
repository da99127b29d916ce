package plan

import (
	"slices"
	"sort"
)

// place finds CPUs for a node on one NUMA node, and assigns them. waiting are this node and those
// that come after it: they decide how much room its NUMA node should have.
func (a *assignment) place(n *node, waiting []*node) *shortage {
	type option struct {
		numa  int
		picks []pick
		cost  []int
	}
	var options []option
	best := 0
	for _, u := range a.w.inv.NUMANodes {
		if n.demand.memoryNode >= 0 && u.ID != n.demand.memoryNode {
			continue
		}
		picks, capacity := a.pick(n, []int{u.ID})
		best = max(best, capacity)
		if picks != nil {
			options = append(options, option{u.ID, picks, a.cost(n, u.ID, picks, waiting)})
		}
	}
	if len(options) == 0 {
		if n.demand.memoryNode >= 0 {
			return &shortage{n, best}
		}
		picks, capacity := a.pick(n, a.numaByDistance(n))
		if picks == nil {
			return &shortage{n, capacity}
		}
		a.take(n, picks)
		return nil
	}
	sort.SliceStable(options, func(i, j int) bool {
		return slices.Compare(options[i].cost, options[j].cost) < 0
	})
	a.take(n, options[0].picks)
	a.decided[n] = "the only one with room"
	if len(options) > 1 {
		a.decided[n] = decisive(options[0].cost, options[1].cost)
	}
	return nil
}

// costReasons say for each of the costs why the NUMA node with the lower cost is taken.
var costReasons = []string{
	"nearest to the node that it polls for", "nearest to its interface", "as the others have no memory",
	"nearest to the nodes that its packets meet", "where those that it is joined to have room, too",
	"where fewer CPUs are left to the host's scheduler", "with the most free cores", "the first of equal ones",
}

// decisive is the reason why a NUMA node was preferred to the next best.
func decisive(cost, next []int) string {
	for i := range cost {
		if cost[i] != next[i] {
			return costReasons[i]
		}
	}
	return costReasons[len(costReasons)-1]
}

// cost says how bad a NUMA node is for a node, with the most important reason first.
func (a *assignment) cost(n *node, numa int, picks []pick, waiting []*node) []int {
	w := a.w
	toNIC := 0
	if n.demand.nic != nil {
		toNIC = w.distance(numa, n.demand.nic.NUMANode)
	}
	unisolated := 0
	for _, p := range picks {
		if !p.core.isolated {
			unisolated += len(p.threads)
		}
	}
	crossing := 0
	for _, other := range w.near(n) {
		if cpus := a.placed[other]; len(cpus) > 0 {
			for _, u := range numaOf(w.inv, cpus) {
				crossing += w.distance(numa, u) - localDistance
			}
		}
	}
	free, wanted := a.freeCores(numa), 0
	connected := w.component(n)
	for _, other := range waiting {
		if connected[other] && (other.demand.nic == nil || other.demand.nic.NUMANode == numa) {
			wanted += a.coresFor(other)
		}
	}
	tooSmall := boolToInt(wanted > free)
	noMemory := boolToInt(w.numaNode(numa).MemoryTotalBytes == 0)
	away := 0
	if n.pollsFor != nil {
		for _, u := range numaOf(w.inv, a.placed[n.pollsFor]) {
			away += w.distance(numa, u) - localDistance
		}
	}
	return []int{away, toNIC, noMemory, crossing, tooSmall, unisolated, -free, numa}
}

// near are the nodes that a node's packets meet first: those on its links, and those beyond nodes
// without their own CPUs, whose work its own CPU does.
func (w *work) near(n *node) []*node {
	hasCPU := func(n *node) bool { return n.demand.count > 0 }
	list := w.reach(n, func(n *node) bool { return !hasCPU(n) })
	return slices.DeleteFunc(list, func(n *node) bool { return !hasCPU(n) })
}

// component is a node with all nodes that any number of links join to it.
func (w *work) component(n *node) map[*node]bool {
	joined := map[*node]bool{n: true}
	for _, other := range w.reach(n, func(*node) bool { return true }) {
		joined[other] = true
	}
	for _, other := range w.nodes {
		if other.pollers != nil && joined[other] {
			joined[other.pollers] = true
		}
	}
	return joined
}

// reach lists the other nodes that a node's links lead to, the nearest first. It continues through
// nodes for which through is true.
func (w *work) reach(n *node, through func(*node) bool) []*node {
	var list []*node
	seen := map[*node]bool{n: true}
	links := map[*link]bool{}
	queue := []*node{n}
	for len(queue) > 0 {
		here := queue[0]
		queue = queue[1:]
		for _, e := range here.endpoints {
			if links[e.link] {
				continue
			}
			links[e.link] = true
			if p := e.link.program; p != nil && !seen[p] {
				seen[p] = true
				list = append(list, p)
			}
			for _, other := range e.link.endpoints {
				if seen[other.node] {
					continue
				}
				seen[other.node] = true
				list = append(list, other.node)
				if through(other.node) {
					queue = append(queue, other.node)
				}
			}
		}
	}
	return list
}

// pick is some threads of one core; the others stay idle if alone is set.
type pick struct {
	core    *core
	threads []int
	alone   bool
}

// pick chooses cores on some NUMA nodes for a node: isolated ones first, and of one L3 cache where
// one has enough. Where they do not suffice it returns nil, and how many CPUs the node could have.
func (a *assignment) pick(n *node, numas []int) ([]pick, int) {
	whole := !a.rung.shareCores || n.demand.spin && !a.rung.sharePollers
	alone := n.demand.spin && !a.rung.sharePollers
	var usable []*core
	for _, u := range numas {
		var here []*core
		for _, c := range a.cores {
			if c.numa == u && (c.untouched() || !whole && len(c.free()) > 0) {
				here = append(here, c)
			}
		}
		// Fill partly used cores first, so that whole ones stay for pollers, but only while pollers
		// still get whole ones.
		sort.SliceStable(here, func(i, j int) bool {
			x, y := here[i], here[j]
			if x.isolated != y.isolated {
				return x.isolated
			}
			if a.rung.sharePollers {
				return x.untouched() && !y.untouched()
			}
			return !x.untouched() && y.untouched()
		})
		usable = append(usable, here...)
	}
	size := func(c *core) int {
		if alone {
			return 1
		}
		return len(c.free())
	}
	capacity := 0
	perL3 := map[int]int{}
	for _, c := range usable {
		capacity += size(c)
		perL3[c.l3] += size(c)
	}
	if capacity < n.demand.count {
		return nil, capacity
	}
	for _, c := range usable {
		if perL3[c.l3] >= n.demand.count && (c.isolated || !usable[0].isolated) {
			l3 := c.l3
			usable = slices.DeleteFunc(usable, func(o *core) bool { return o.l3 != l3 })
			break
		}
	}
	var picks []pick
	for need := n.demand.count; need > 0; usable = usable[1:] {
		c := usable[0]
		p := pick{c, c.free()[:min(need, size(c))], alone}
		need -= len(p.threads)
		picks = append(picks, p)
	}
	return picks, capacity
}

// take assigns what was picked.
func (a *assignment) take(n *node, picks []pick) {
	var cpus []int
	for _, p := range picks {
		p.core.give(n, p.threads)
		if p.alone {
			for _, id := range p.core.free() {
				p.core.idle[id] = true
			}
		}
		cpus = append(cpus, p.threads...)
	}
	slices.Sort(cpus)
	a.placed[n] = cpus
}

// freeCores counts the unused cores of a NUMA node.
func (a *assignment) freeCores(numa int) int {
	count := 0
	for _, c := range a.cores {
		if c.numa == numa && c.untouched() {
			count++
		}
	}
	return count
}

// coresFor is how many whole cores a demand takes.
func (a *assignment) coresFor(n *node) int {
	threads := 1
	for _, c := range a.cores {
		threads = max(threads, len(c.threads))
	}
	if n.demand.spin {
		threads = 1
	}
	return (n.demand.count + threads - 1) / threads
}

// numaByDistance orders the NUMA nodes for a demand that none of them can meet alone: the one with
// most room first, then by distance from it.
func (a *assignment) numaByDistance(n *node) []int {
	var ids []int
	for _, u := range a.w.inv.NUMANodes {
		ids = append(ids, u.ID)
	}
	first := ids[0]
	if n.demand.nic != nil {
		first = n.demand.nic.NUMANode
	} else {
		for _, id := range ids {
			if a.freeCores(id) > a.freeCores(first) {
				first = id
			}
		}
	}
	sort.SliceStable(ids, func(i, j int) bool {
		return a.w.distance(first, ids[i]) < a.w.distance(first, ids[j])
	})
	return ids
}
