package host

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/files"
)

const nodeRoot = "/sys/devices/system/node"

// readNUMANodes reads the nodes and writes each CPU's node into the inventory. A kernel
// without NUMA has one node with everything.
func readNUMANodes(t Tree, inv *Inventory) []NUMANode {
	var nodes []NUMANode
	for _, id := range cpuList(t, nodeRoot+"/online") {
		dir := fmt.Sprintf("%s/node%d", nodeRoot, id)
		meminfo := files.Text(t, dir+"/meminfo")
		node := NUMANode{
			ID:               id,
			CPUs:             cpuList(t, dir+"/cpulist"),
			MemoryTotalBytes: nodeMemory(meminfo, "MemTotal"),
			MemoryFreeBytes:  nodeMemory(meminfo, "MemFree"),
			Hugepages:        readHugepages(t, dir+"/hugepages"),
		}
		for _, d := range strings.Fields(files.Text(t, dir+"/distance")) {
			if n, err := strconv.Atoi(d); err == nil {
				node.Distances = append(node.Distances, n)
			}
		}
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		all := NUMANode{MemoryTotalBytes: inv.MemoryBytes, Distances: []int{10}}
		for _, c := range inv.CPUs {
			if c.Online {
				all.CPUs = append(all.CPUs, c.ID)
			}
		}
		all.MemoryFreeBytes = kilobytes(field(files.Text(t, "/proc/meminfo"), "MemFree"))
		nodes = []NUMANode{all}
	}
	for _, node := range nodes {
		for _, id := range node.CPUs {
			for i := range inv.CPUs {
				if inv.CPUs[i].ID == id {
					inv.CPUs[i].NUMANode = node.ID
				}
			}
		}
	}
	return nodes
}

// nodeMemory finds a line such as "Node 0 MemTotal:  24684084 kB".
func nodeMemory(meminfo, key string) int64 {
	for line := range strings.SplitSeq(meminfo, "\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasSuffix(name, " "+key) {
			return kilobytes(value)
		}
	}
	return 0
}

// kilobytes reads "24684084 kB" as bytes; the kernel's kB are 1024 bytes.
func kilobytes(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "kB")), 10, 64)
	if err != nil {
		return 0
	}
	return n * 1024
}

// readHugepages reads the counts of each page size in a directory of
// "hugepages-2048kB" folders.
func readHugepages(t Tree, dir string) []Hugepages {
	var list []Hugepages
	names, _ := t.ReadDir(dir) // absent without hugetlbfs
	for _, name := range names {
		kb, ok := strings.CutPrefix(name, "hugepages-")
		if !ok {
			continue
		}
		total, _ := files.Number(t, dir+"/"+name+"/nr_hugepages")
		free, _ := files.Number(t, dir+"/"+name+"/free_hugepages")
		list = append(list, Hugepages{SizeBytes: kilobytes(kb), Total: total, Free: free})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].SizeBytes < list[j].SizeBytes })
	return list
}

// FreeHugepages returns the free hugepages of a size on a NUMA node, and the node's total
// memory: caches count as used, but the kernel drops them for more hugepages. A host that
// does not count by node has one node.
func (inv *Inventory) FreeHugepages(numa int, sizeBytes int64) (pages, memoryBytes int64) {
	counts := inv.Hugepages
	for _, n := range inv.NUMANodes {
		if n.ID == numa {
			memoryBytes = n.MemoryTotalBytes
			if len(inv.NUMANodes) == 1 {
				// Kernels that initialise memory late increase the node's
				// total as they go.
				memoryBytes = max(memoryBytes, inv.MemoryBytes)
			}
			if len(n.Hugepages) > 0 || len(inv.NUMANodes) > 1 {
				counts = n.Hugepages
			}
		}
	}
	for _, h := range counts {
		if h.SizeBytes == sizeBytes {
			pages = h.Free
		}
	}
	return pages, memoryBytes
}
