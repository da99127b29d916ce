package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// The memory that an engine takes for packets.
const (
	// An engine gets more where its ports' buffers take more.
	defaultEngineMemory = 64 << 20
	// leastEngineMemory is the least that a file may ask for (rules of package spec).
	leastEngineMemory = 32 << 20
)

// assignDPDK decides where the memory of all users of DPDK is, and which devices they may open.
func (w *work) assignDPDK() error {
	for _, n := range w.users() {
		if err := w.checkOrdinaryMemory(n); err != nil {
			return err
		}
		bytes, err := w.dpdkMemory(n)
		if err != nil {
			return err
		}
		if bytes == 0 {
			continue
		}
		n.dpdk = &DPDK{Prefix: w.dpdkPrefix(n), MemoryBytes: bytes, MemoryNode: w.dpdkNode(n), Huge: w.mode() != spec.HugepagesNone && !n.remote()}
		if n.remote() {
			continue
		}
		if n.guest() {
			if err := w.guestDPDK(n); err != nil {
				return err
			}
			continue
		}
		if err := w.openDevices(n); err != nil {
			return err
		}
		if len(w.inv.NUMANodes) > 1 {
			n.because("DPDK's memory on NUMA node %d", n.dpdk.MemoryNode)
		}
		if n.dpdk.Huge && w.pageBytes() == 0 {
			return at(&Impossible{n.title() + " needs hugepages for DPDK", "this kernel has no hugepages (CONFIG_HUGETLBFS)",
				"run it in ordinary memory (--set dpdk.hugepages=none)"}, n.steps())
		}
	}
	return nil
}

// dpdkMemory is how much memory a node's engine or a link's program takes; 0 without DPDK. The kind
// switch uses the memory that its guests share with it.
func (w *work) dpdkMemory(n *node) (int64, error) {
	if n.link != nil {
		return w.programMemory(n.link), nil
	}
	return w.engineMemory(n)
}

// engineMemory is the file's dpdk.memory, or enough for the buffers of the node's ports.
func (w *work) engineMemory(n *node) (int64, error) {
	least := w.leastMemory(n)
	if least == 0 {
		return 0, nil
	}
	if err := w.checkFrames(n); err != nil {
		return 0, err
	}
	if w.exp.DPDK == nil || w.exp.DPDK.Memory == 0 {
		return max(least, defaultEngineMemory), nil
	}
	if given := int64(w.exp.DPDK.Memory); given < least {
		return 0, at(&Conflict{"dpdk.memory", fmt.Sprintf("%s is too little for the buffers of %s, which needs %s for its ports and frames of %d bytes",
			terminal.MiB(given), n.title(), terminal.MiB(least), w.frameBytes()),
			fmt.Sprintf("set at least that (--set dpdk.memory=%dMiB), or remove it", least>>20)}, []string{"dpdk", "memory"})
	}
	return int64(w.exp.DPDK.Memory), nil
}

// checkFrames refuses frames, and links, that a device of the node cannot have.
func (w *work) checkFrames(n *node) error {
	for _, e := range n.endpoints {
		if e.device == nil {
			continue
		}
		if e.device.Driver == driverAFPacket && e.link.mtu > maxPacketMTU {
			return at(&Conflict{"link " + e.link.name, fmt.Sprintf("DPDK opens %s by %s, which supports an MTU of at most %d, and it is %d", e, driverAFPacket, maxPacketMTU, e.link.mtu),
				fmt.Sprintf("make it smaller (--set links.%s.mtu=%d), or remove mtu", e.link.name, maxPacketMTU)}, e.link.steps("mtu"))
		}
		if e.device.driver() != driverAFXDP {
			continue
		}
		// A macvlan has no native XDP: the kernel uses generic XDP, which has no such limit.
		if e.device.Driver != "" && e.link.kind.Descriptor().End == spec.EndVeth && e.link.mtu > maxVethXDPMTU {
			return at(&Conflict{"link " + e.link.name, fmt.Sprintf("DPDK opens %s by %s, for which a veth's MTU is at most %d, and it is %d", e, driverAFXDP, maxVethXDPMTU, e.link.mtu),
				"use af_packet (--set dpdk.driver=af_packet), or remove mtu"}, e.link.steps("mtu"))
		}
		if w.frameBytes() <= maxAFXDPFrameBytes {
			continue
		}
		remedy, key := "use af_packet (--set dpdk.driver=af_packet)", []string{"traffic", "frame_bytes"}
		if e.device.Driver == "" {
			remedy, key = "use net_af_packet in dpdk.device", []string{"dpdk", "device", e.String()}
		}
		return at(&Conflict{"link " + e.link.name, fmt.Sprintf("DPDK opens %s by %s, which supports frames of at most %d bytes, and they have %d", e, driverAFXDP, maxAFXDPFrameBytes, w.frameBytes()),
			fmt.Sprintf("%s, or send smaller frames (--set traffic.frame_bytes=%d)", remedy, maxAFXDPFrameBytes)}, key)
	}
	return nil
}

// frameBytes is the size of the frames that engines open their ports for; 0 without
// traffic.
func (w *work) frameBytes() int {
	if w.stream == nil {
		return 0
	}
	return w.stream.FrameBytes
}

// dpdkPrefix separates the shared files of one process from all others; host names contain no
// underscore, so a link's prefix differs from every node's.
func (w *work) dpdkPrefix(n *node) string {
	if n.link != nil {
		return w.prefix + "_" + n.link.name
	}
	return n.hostName
}

// dpdkNode is the NUMA node of the CPU that handles the packets, if the memory may be there.
func (w *work) dpdkNode(n *node) int {
	if n.remote() {
		return 0 // ordinary memory is anywhere
	}
	cpus := n.cpus
	if n.engineCPU >= 0 {
		cpus = []int{n.engineCPU}
	}
	for _, numa := range numaOf(w.inv, cpus) {
		if slices.Contains(n.memoryNodes, numa) {
			return numa
		}
	}
	return n.memoryNodes[0]
}

func (w *work) mode() spec.Hugepages {
	if w.exp.DPDK != nil && w.exp.DPDK.Hugepages != "" {
		return w.exp.DPDK.Hugepages
	}
	return spec.HugepagesAuto
}

// usualPage is x86's smaller hugepage. Larger ones would be mostly empty, as an engine takes some
// tens of MiB.
const usualPage = 2 << 20

// pageBytes is the size of the hugepages to use; 0 where the kernel has none.
func (w *work) pageBytes() int64 {
	var least int64
	for _, h := range w.inv.Hugepages {
		if h.SizeBytes == usualPage {
			return usualPage
		}
		if least == 0 || h.SizeBytes < least {
			least = h.SizeBytes
		}
	}
	return least
}

// hugepages sums up the hugepages that the plan takes; nil where nothing uses DPDK.
func (w *work) hugepages() *Hugepages {
	out := &Hugepages{Mode: w.mode(), PageBytes: w.pageBytes(), Demands: []HugepageDemand{}}
	used := false
	for _, n := range w.users() {
		if d, ok := w.vmDemand(n); ok {
			used = true
			out.Demands = append(out.Demands, d)
		}
		if n.dpdk == nil || n.guest() || n.remote() { // theirs is not this host's
			continue
		}
		used = true
		if !n.dpdk.Huge {
			continue
		}
		who := n.title()
		if n.link != nil {
			who = "link " + n.link.name
		}
		for _, memoryNode := range w.dpdkNodes(n) {
			out.Demands = append(out.Demands, HugepageDemand{
				Who: who, MemoryNode: memoryNode,
				Pages: int((n.dpdk.MemoryBytes + out.PageBytes - 1) / out.PageBytes),
			})
		}
	}
	if !used {
		return nil
	}
	return out
}

// Lacking compares the hugepages of a plan with those that a host has at the moment, and says what
// is missing and what to do. It is separate from Make, which must not depend on what others use at
// the moment.
func (p *Plan) Lacking(inv *host.Inventory) []host.Finding {
	if p.Hugepages == nil || p.Hugepages.Mode == spec.HugepagesNone {
		return nil
	}
	wanted, who := map[int]int64{}, map[int][]string{}
	for _, d := range p.Hugepages.Demands {
		wanted[d.MemoryNode] += int64(d.Pages)
		who[d.MemoryNode] = append(who[d.MemoryNode], d.Who)
	}
	var numas []int
	for numa := range wanted {
		numas = append(numas, numa)
	}
	sort.Ints(numas)
	var list []host.Finding
	size := p.Hugepages.PageBytes
	for _, numa := range numas {
		free, memory := inv.FreeHugepages(numa, size)
		missing := wanted[numa] - free
		if missing <= 0 {
			continue
		}
		problem := fmt.Sprintf("%s on NUMA node %d, of %s each, and %d are free", wantText(who[numa], wanted[numa]), numa, terminal.MiB(size), free)
		switch {
		case p.Hugepages.Mode == spec.HugepagesAuto:
			list = append(list, host.Finding{Severity: host.SeverityError, Capability: host.FeatureHugepages, Problem: problem, Missing: missing * size,
				Remedy: "--set dpdk.hugepages=reserve reserves what is missing and releases it at the end" + p.ordinary("; ")})
		case missing*size > memory:
			list = append(list, host.Finding{Severity: host.SeverityError, Capability: host.FeatureHugepages, Missing: missing*size - memory,
				Problem: fmt.Sprintf("%s; the node has %s of memory to reserve the rest from", problem, terminal.MiB(memory)),
				Remedy:  p.DoWithLess()})
		}
	}
	return list
}

// DoWithLess suggests how to do with fewer hugepages, or with none.
func (p *Plan) DoWithLess() string {
	less, ordinary := p.takeLess(), p.ordinary("")
	switch {
	case less == "" && ordinary == "":
		return "free some memory"
	case less == "" || ordinary == "":
		return less + ordinary
	}
	return less + ", or " + ordinary
}

// takeLess suggests the least memory that suffices; empty where no engine could take less.
func (p *Plan) takeLess() string {
	least := max(p.leastMemory(), leastEngineMemory)
	if !slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.DPDK != nil && n.DPDK.MemoryBytes > least }) {
		return ""
	}
	return fmt.Sprintf("use less (--set dpdk.memory=%dMiB)", least>>20)
}

func wantText(who []string, pages int64) string {
	const most = 4
	if len(who) > most {
		who = append(slices.Clone(who[:most]), fmt.Sprintf("%d more", len(who)-most))
	}
	return fmt.Sprintf("%s %s %s", strings.Join(who, ", "), choose(len(who) == 1, "needs", "need"), terminal.Count(int(pages), "hugepage"))
}
