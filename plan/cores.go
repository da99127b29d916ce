package plan

import (
	"slices"

	"nines.dev/nines/host"
)

// core is a physical core with those of its hardware threads that we may use.
type core struct {
	threads  []int // sorted
	numa     int
	l3       int  // the first CPU that shares its L3
	isolated bool // all of its threads are
	user     map[int]*node
	idle     map[int]bool // siblings of pollers, left idle
	kept     map[int]bool // for housekeeping
}

// cores groups the usable CPUs by physical core, sorted by their first thread.
func (w *work) cores() []*core {
	var list []*core
	of := map[int]*core{}
	for _, id := range w.usable() {
		cpu, err := w.inv.CPU(id)
		if err != nil {
			continue
		}
		c := of[id]
		if c == nil {
			numa := cpu.NUMANode
			if numa < 0 { // the host does not say
				numa = w.inv.NUMANodes[0].ID
			}
			c = &core{numa: numa, l3: firstOr(cpu.L3, numa), isolated: true,
				user: map[int]*node{}, idle: map[int]bool{}, kept: map[int]bool{}}
			list = append(list, c)
			for _, sibling := range cpu.Siblings {
				of[sibling] = c
			}
		}
		c.threads = append(c.threads, id)
		c.isolated = c.isolated && (cpu.Isolated || cpu.NoHzFull)
	}
	return list
}

func firstOr(list []int, otherwise int) int {
	if len(list) > 0 {
		return list[0]
	}
	return otherwise
}

// free are the threads that are not assigned.
func (c *core) free() []int {
	return slices.DeleteFunc(slices.Clone(c.threads), func(id int) bool {
		return c.user[id] != nil || c.idle[id] || c.kept[id]
	})
}

func (c *core) untouched() bool { return len(c.free()) == len(c.threads) }

// give assigns threads to a node.
func (c *core) give(n *node, threads []int) {
	for _, id := range threads {
		c.user[id] = n
	}
}

// coreOf finds the core of a CPU.
func coreOf(cores []*core, id int) *core {
	i := slices.IndexFunc(cores, func(c *core) bool { return slices.Contains(c.threads, id) })
	if i < 0 {
		return nil
	}
	return cores[i]
}

// numaOf are the NUMA nodes of CPUs, sorted, each once.
func numaOf(inv *host.Inventory, cpus []int) []int {
	var list []int
	for _, id := range cpus {
		if cpu, err := inv.CPU(id); err == nil && cpu.NUMANode >= 0 {
			list = append(list, cpu.NUMANode)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
