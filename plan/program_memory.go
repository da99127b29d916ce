package plan

import (
	"fmt"

	"nines.dev/nines/spec"
)

// programMemory is what a link's program takes on a NUMA node; 0 where it takes only the memory
// that its guests share with it.
func (w *work) programMemory(l *link) int64 {
	program := l.between()
	if program.Memory == nil {
		return program.MemoryBytes
	}
	page := w.pageBytes()
	if page == 0 {
		page = usualPage
	}
	return program.Memory(len(l.endpoints), l.mtu, page)
}

// checkOrdinaryMemory refuses to run a program without hugepages that takes them itself.
func (w *work) checkOrdinaryMemory(n *node) error {
	if n.link == nil || !n.link.between().HugepagesOnly || w.mode() != spec.HugepagesNone {
		return nil
	}
	return at(&Conflict{"link " + n.link.name, fmt.Sprintf("dpdk.hugepages is none, and %s needs hugepages for its packets", n.link.kind),
		"reserve them for the lab (--set dpdk.hugepages=reserve), or use kind: switch"}, []string{"dpdk", "hugepages"})
}

// dpdkNodes are the NUMA nodes on which a node's engine or a link's program takes its memory.
func (w *work) dpdkNodes(n *node) []int {
	if n.link == nil || !n.link.between().EachNUMANode {
		return []int{n.dpdk.MemoryNode}
	}
	var numas []int
	for _, numa := range w.inv.NUMANodes {
		if len(numa.CPUs) > 0 && numa.MemoryTotalBytes > 0 {
			numas = append(numas, numa.ID)
		}
	}
	if len(numas) == 0 {
		return []int{n.dpdk.MemoryNode}
	}
	return numas
}

// ordinary suggests to do without hugepages; empty where a link's program cannot.
func (p *Plan) ordinary(before string) string {
	for _, l := range p.Links {
		if program := l.Program(); program != nil && program.HugepagesOnly {
			return ""
		}
	}
	return before + "--set dpdk.hugepages=none runs in ordinary memory, slower"
}
