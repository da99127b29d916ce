package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// assignMemory puts each node's memory where its CPUs are, and refuses a limit above what those
// NUMA nodes have in total. Free memory has no influence.
func (w *work) assignMemory() error {
	for _, n := range w.users() {
		if n.pollsFor != nil {
			continue // its threads use the node's memory
		}
		if n.remote() {
			n.memoryNodes = []int{}
			continue
		}
		n.memoryNodes = w.memoryFor(n)
		var total int64
		for _, id := range n.memoryNodes {
			total += w.numaNode(id).MemoryTotalBytes
		}
		if len(w.inv.NUMANodes) == 1 {
			// Kernels that initialise memory late raise the node's total only step by step.
			total = max(total, w.inv.MemoryBytes)
		}
		if limit := n.memoryLimit(); limit > total {
			w.refuse(w.tooMuchMemory(n, " on NUMA "+numaText(n.memoryNodes), limit, total))
		}
	}
	return nil
}

// memoryLimit is how much memory a node may use; 0: no limit.
func (n *node) memoryLimit() int64 {
	if n.guest() {
		return n.vmMemory()
	}
	if n.remote() {
		return 0 // of this host's it takes none
	}
	return int64(n.spec.Memory)
}

// tooMuchMemory refuses a limit, as the user wrote it.
func (w *work) tooMuchMemory(n *node, where string, limit, total int64) error {
	return at(&Impossible{fmt.Sprintf("%s requests %s of memory%s", n.title(), spec.Size(limit), where),
		"there are " + terminal.MiB(total), fmt.Sprintf("use less (--set nodes.%s.memory=%dMiB)", n.name, total>>20)}, n.steps("memory"))
}

func (w *work) memoryFor(n *node) []int {
	if id := n.demand.memoryNode; id >= 0 {
		n.because("memory on NUMA node %d, as the file asks", id)
		if numas := numaOf(w.inv, n.cpus); n.exclusive && !slices.Equal(numas, []int{id}) {
			w.note("node %s has its memory on NUMA node %d and its CPUs on %s: each access crosses over.", n.name, id, numaText(numas))
		}
		return []int{id}
	}
	var withMemory []int
	numas := numaOf(w.inv, n.cpus)
	for _, id := range numas {
		if w.numaNode(id) != nil && w.numaNode(id).MemoryTotalBytes > 0 {
			withMemory = append(withMemory, id)
		}
	}
	if len(withMemory) > 0 {
		if n.exclusive && len(w.inv.NUMANodes) > 1 {
			n.because("memory on NUMA %s, with its CPUs", numaText(withMemory))
		}
		return withMemory
	}
	nearest := w.nearestMemory(numas)
	if n.exclusive && len(w.inv.NUMANodes) > 1 {
		n.because("memory on NUMA node %d, as their NUMA node has none", nearest)
	}
	return []int{nearest}
}

// nearestMemory is the NUMA node with memory nearest to some others.
func (w *work) nearestMemory(numas []int) int {
	best, bestDistance := w.inv.NUMANodes[0].ID, -1
	for _, u := range w.inv.NUMANodes {
		if u.MemoryTotalBytes == 0 {
			continue
		}
		sum := 0
		for _, id := range numas {
			sum += w.distance(id, u.ID)
		}
		if bestDistance < 0 || sum < bestDistance {
			best, bestDistance = u.ID, sum
		}
	}
	return best
}
