package plan

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"nines.dev/nines/terminal"
)

// rung says what is given up when CPUs are few.
type rung struct {
	shareCores        bool // two nodes may have threads of one core
	sharePollers      bool // pollers' cores are shared too
	smallHousekeeping bool // housekeeping has one thread, not a whole core
	fromKept          bool // the sender runs on the housekeeping CPUs
	endsKept          bool // both ends run there
	shareEngines      bool // engines that asked for no CPU share what is left
}

// ladder lists what is tried, in order: the first rung that suffices is taken. What the user asked
// for is never given up, nor is the last housekeeping CPU, unless the user's lists name that too.
var ladder = []rung{
	{},
	{shareCores: true},
	{shareCores: true, sharePollers: true},
	{shareCores: true, sharePollers: true, smallHousekeeping: true},
	{shareCores: true, sharePollers: true, smallHousekeeping: true, fromKept: true},
	{shareCores: true, sharePollers: true, smallHousekeeping: true, endsKept: true},
	{shareCores: true, sharePollers: true, smallHousekeeping: true, endsKept: true, shareEngines: true},
}

// assignment is one try at assigning the CPUs.
type assignment struct {
	w            *work
	rung         rung
	before       *kept
	cores        []*core
	housekeeping []int
	placed       map[*node][]int
	decided      map[*node]string // why its NUMA node
	onKept       []*node          // engines on the housekeeping CPUs
	sharing      []*node          // engines that share the remaining CPUs
}

// shortage is a demand that did not fit in a try.
type shortage struct {
	node *node
	free int // CPUs that were left for it
}

// assignCPUs goes down the ladder until all demands are met.
func (w *work) assignCPUs() error {
	if len(w.usable()) == 0 {
		return &Impossible{"the lab needs a CPU", "this process may use none that is online", "widen its cpuset or affinity (taskset -p)"}
	}
	if len(w.inv.NUMANodes) == 0 {
		return &Impossible{"the lab needs memory", "the inventory has no NUMA node", "a host has at least one: take the inventory again (nines host --format json)"}
	}
	short := w.climb(w.before)
	if short != nil { // what runs may have CPUs that only others can use
		short = w.climb(keptOf(nil))
	}
	if short != nil {
		return w.impossible(short)
	}
	return nil
}

// climb tries the rungs, with the CPUs that nodes have in a running lab. It returns nil if one suffices.
func (w *work) climb(before *kept) (short *shortage) {
	for _, r := range ladder {
		if !w.applies(r) {
			continue
		}
		a := &assignment{w: w, rung: r, before: before, cores: w.cores(), placed: map[*node][]int{}, decided: map[*node]string{}}
		if short = a.try(); short == nil {
			w.cpus = a
			a.finish()
			return nil
		}
	}
	return short
}

// applies reports whether a rung can make a difference: the sender alone can move to the
// housekeeping CPUs only where the receiver is another node. Even a noisy CPU of its own is better
// for a sender than sharing one with its sink, whose receive stamps would wait for the sends.
func (w *work) applies(r rung) bool {
	if !r.fromKept {
		return true
	}
	if w.stream == nil {
		return false
	}
	from, to := w.path[0].node, w.path[len(w.path)-1].node
	return from != to && !from.demand.explicit
}

// try assigns CPUs: first those that the user names, then one core for housekeeping, then the rest
// by need.
func (a *assignment) try() *shortage {
	for _, n := range a.w.users() {
		for _, id := range n.demand.list {
			coreOf(a.cores, id).give(n, []int{id})
		}
		if len(n.demand.list) > 0 {
			a.placed[n] = n.demand.list
		}
	}
	sharing := func(n *node) bool {
		return a.rung.endsKept && n.demand.end || a.rung.fromKept && n == a.w.path[0].node || a.rung.shareEngines
	}
	stay := a.stays(sharing)
	a.chooseHousekeeping(stay)
	a.keepCPUs(stay)
	var waiting []*node
	for _, n := range a.w.placingOrder() {
		d := n.demand
		switch {
		case d.count == 0 || len(d.list) > 0 || len(a.placed[n]) > 0:
		case d.explicit:
			waiting = append(waiting, n)
		case a.rung.endsKept && d.end, a.rung.fromKept && n == a.w.path[0].node:
			a.onKept = append(a.onKept, n)
		case a.rung.shareEngines:
			a.sharing = append(a.sharing, n)
		default:
			waiting = append(waiting, n)
		}
	}
	for i, n := range waiting {
		if s := a.place(n, waiting[i:]); s != nil {
			return s
		}
	}
	return nil
}

// chooseHousekeeping takes a core for the host and for nodes without CPUs of their own: that of CPU 0, where
// the kernel does its own housekeeping, unless a node names it or the host isolates it; else the
// first of the NUMA node farthest from the NICs. Nodes that stay where they are keep theirs.
func (a *assignment) chooseHousekeeping(stay map[*node][]int) {
	w := a.w
	held := slices.Concat(slices.Collect(maps.Values(stay))...)
	rest := func(c *core) []int {
		return slices.DeleteFunc(c.free(), func(id int) bool { return slices.Contains(held, id) })
	}
	nics := w.physicalNICNodes()
	far := func(c *core) int {
		sum := 0
		for _, u := range nics {
			sum += w.distance(c.numa, u)
		}
		return sum
	}
	candidates := slices.DeleteFunc(slices.Clone(a.cores), func(c *core) bool { return len(rest(c)) == 0 })
	if len(candidates) == 0 && len(stay) > 0 {
		clear(stay)
		a.chooseHousekeeping(stay)
		return
	}
	if len(candidates) == 0 { // the user's lists name every CPU, and the user decides
		a.housekeeping = w.usable()[:1]
		return
	}
	sort.SliceStable(candidates, func(i, j int) bool {
		x, y := candidates[i], candidates[j]
		for _, by := range [][2]int{
			{boolToInt(!x.untouched()), boolToInt(!y.untouched())},
			{boolToInt(x.isolated), boolToInt(y.isolated)},
			{boolToInt(x.threads[0] != 0), boolToInt(y.threads[0] != 0)},
			{-far(x), -far(y)},
		} {
			if by[0] != by[1] {
				return by[0] < by[1]
			}
		}
		return false // the order of the cores decides
	})
	core := candidates[0]
	keep := rest(core)
	if a.rung.smallHousekeeping {
		keep = keep[:1]
	}
	for _, id := range keep {
		core.kept[id] = true
	}
	a.housekeeping = keep
}

// physicalNICNodes are the NUMA nodes of the NICs that the lab uses, else of all
// physical ones.
func (w *work) physicalNICNodes() []int {
	var used, all []int
	for _, l := range w.links {
		if nic := w.parentNIC(l); nic != nil && nic.NUMANode >= 0 {
			used = append(used, nic.NUMANode)
		}
		for _, e := range l.endpoints {
			if nic := w.pciNIC(e); nic != nil && nic.NUMANode >= 0 {
				used = append(used, nic.NUMANode)
			}
		}
	}
	for _, nic := range w.inv.NICs {
		if !nic.Virtual && nic.NUMANode >= 0 {
			all = append(all, nic.NUMANode)
		}
	}
	if len(used) > 0 {
		return used
	}
	return all
}

// placingOrder puts nodes that are bound to a NUMA node or NIC first, then those on the traffic's
// path, then their neighbours, so that each is placed near the one before.
func (w *work) placingOrder() []*node {
	var order []*node
	seen := map[*node]bool{}
	add := func(n *node) {
		if !seen[n] {
			seen[n] = true
			order = append(order, n)
			if n.pollers != nil {
				order = append(order, n.pollers)
			}
		}
	}
	for _, n := range w.nodes {
		if n.demand.memoryNode >= 0 {
			add(n)
		}
	}
	for _, n := range w.nodes {
		if n.demand.nic != nil {
			add(n)
		}
	}
	for _, e := range w.path {
		add(e.node)
		if e.link.program != nil {
			add(e.link.program)
		}
	}
	visitedLinks := map[*link]bool{}
	next := 0 // the first in the order whose links were not visited
	for _, n := range w.nodes {
		for ; next < len(order); next++ { // order grows during the loop
			for _, e := range order[next].endpoints {
				if visitedLinks[e.link] {
					continue
				}
				visitedLinks[e.link] = true
				if e.link.program != nil {
					add(e.link.program)
				}
				for _, other := range e.link.endpoints {
					add(other.node)
				}
			}
		}
		add(n)
	}
	return order
}

// cpuDemand says how many CPUs a node wants.
func (w *work) cpuDemand(n *node) string {
	want := fmt.Sprintf("%s requests %s", n.title(), terminal.Count(n.demand.count, "CPU"))
	if n.demand.memoryNode >= 0 {
		want += fmt.Sprintf(" on NUMA node %d", n.demand.memoryNode)
	}
	return want
}

// cpusThere says how many CPUs the host has for a node.
func (w *work) cpusThere(n *node) string {
	usable := len(w.usable())
	text := fmt.Sprintf("the host has %d", usable)
	if total := len(w.inv.CPUs); total > usable {
		text += fmt.Sprintf(" usable of %d", total)
	}
	if n.demand.memoryNode >= 0 {
		text += fmt.Sprintf(", that node %d", len(w.usableOn(n.demand.memoryNode)))
	}
	return text
}

// impossible describes the demand that failed on the last rung.
func (w *work) impossible(s *shortage) error {
	n, d := s.node, s.node.demand
	parts := []string{w.cpusThere(n), "1 is kept for housekeeping"}
	const named = 5
	more := 0
	for _, other := range w.users() {
		if other == n || !other.demand.explicit {
			continue
		}
		if len(parts) < named+2 {
			parts = append(parts, fmt.Sprintf("%s needs %d", other.name, other.demand.count))
		} else {
			more += other.demand.count
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("further nodes need %d", more))
	}
	remedy := fmt.Sprintf("request fewer (--set %s.cpus=%d)", n.key(), s.free)
	switch {
	case s.free == 0 && d.program:
		remedy = fmt.Sprintf("let it share (--set %s.cpus=1), request fewer elsewhere, or use a host with more CPUs", n.key())
	case s.free == 0:
		remedy = fmt.Sprintf("let it share (--set %s.cpus=0), request fewer elsewhere, or use a host with more CPUs", n.key())
	case d.memoryNode >= 0:
		remedy += ", or remove memory_node"
	}
	return at(&Impossible{w.cpuDemand(n), strings.Join(parts, ", "), remedy}, n.steps("cpus"))
}

// usableOn are the usable CPUs of a NUMA node.
func (w *work) usableOn(numa int) []int {
	return slices.DeleteFunc(w.usable(), func(id int) bool {
		cpu, err := w.inv.CPU(id)
		return err != nil || cpu.NUMANode != numa
	})
}
