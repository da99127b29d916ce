package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// VM is what a virtual machine is made of.
type VM struct {
	spec.VM
	// VCPUs is how many CPUs the guest has. Where the node has its own CPUs, vCPU i is pinned to
	// the i-th of RunOn; else all float over the node's CPUs.
	VCPUs  int  `json:"vcpus"`
	Pinned bool `json:"pinned"`
	// EmulatorCPUs are for QEMU's other threads: the housekeeping CPUs.
	EmulatorCPUs []int `json:"emulator_cpus"`
	// MemoryBytes is the guest's memory; Huge takes it from the host's hugepages, on
	// MemoryNode.
	MemoryBytes int64 `json:"memory_bytes"`
	Huge        bool  `json:"huge"`
	MemoryNode  int   `json:"memory_node"`
	// GuestHugepages is how many hugepages of 2 MiB the guest's own kernel reserves for DPDK.
	GuestHugepages int `json:"guest_hugepages,omitempty"`
}

// RunOn are the host's CPUs that run those of a guest, in order: the node's, and those of the threads in
// the guest that poll on CPUs of their own.
func (n Node) RunOn() []int {
	if n.Receive != nil && n.Receive.CPUsExclusive {
		return slices.Concat(n.CPUs, n.Receive.CPUs)
	}
	return n.CPUs
}

// GuestCPU converts a CPU of the plan to the number that the node's processes use: the guest's in a
// virtual machine, elsewhere the host's; -1, for any, stays.
func (n Node) GuestCPU(cpu int) int {
	if n.VM == nil || cpu < 0 {
		return cpu
	}
	if i := slices.Index(n.RunOn(), cpu); n.VM.Pinned && i >= 0 {
		return i
	}
	return 0
}

// GuestCPUs converts several CPUs in the same way, and sorts them.
func (n Node) GuestCPUs(cpus []int) []int {
	if n.VM == nil {
		return cpus
	}
	var guest []int
	for _, cpu := range cpus {
		guest = append(guest, n.GuestCPU(cpu))
	}
	slices.Sort(guest)
	return slices.Compact(guest)
}

const (
	// defaultVMMemory holds Debian's kernel, the engine and what DPDK takes.
	defaultVMMemory = 512 << 20
	// guestPage is the hugepage size in the guest; x86 has it without boot parameters, which 1 GiB
	// pages need.
	guestPage = 2 << 20
	// guestHugepageSlack is what the environment layer takes besides packets.
	guestHugepageSlack = 8
	// maxGuestInterfaces is the number of slots of a root bus less those of QEMU's machine, the
	// console and firmware (docs/pcie.txt of QEMU).
	maxGuestInterfaces = 20
)

// Guest is true for a virtual machine: it has a kernel and a clock of its own.
func (n Node) Guest() bool { return n.Runtime.Descriptor().Guest }

func (n *node) guest() bool { return n.link == nil && n.spec.Runtime.Descriptor().Guest }

// guestPCI is an endpoint's PCI address in its guest; empty elsewhere. Each interface is behind its
// own root port, with buses numbered from 1: first QEMU's network cards, then the host's functions
// (Arguments of package vm).
func (e *endpoint) guestPCI() string {
	if !e.node.guest() {
		return ""
	}
	before := 0
	for _, other := range e.node.endpoints {
		if other == e {
			break
		}
		before += boolToInt(other.isFunction() == e.isFunction())
	}
	for _, other := range e.node.endpoints {
		before += boolToInt(e.isFunction() && !other.isFunction())
	}
	// The one on the management network is the last of QEMU's.
	before += boolToInt(e.isFunction() && e.node.managed)
	return fmt.Sprintf("0000:%02x:00.0", before+1)
}

// isFunction is true for an endpoint that is a PCI function of the host.
func (e *endpoint) isFunction() bool {
	return e.link.kind.Descriptor().End.IsHardware()
}

// attachGuest decides for the i-th endpoint of a link, which is in a virtual machine: vhost-user
// where the link's program has it, else a tap in the fabric, or, at a veth link, in the other end's
// node. In the guest it is always a PCI function, which DPDK opens where the backend is dpdk.
func (w *work) attachGuest(e *endpoint, i int, dpdk bool) {
	l, d := e.link, e.link.kind.Descriptor()
	switch {
	case d.Guest == spec.GuestVhost:
		e.attach, e.socket, e.programListens = AttachVhost, socketName(l, i), d.Program.Listens
	case l.program != nil:
		e.attach = AttachVeth
	}
	if dpdk {
		e.device = &Device{Arguments: e.guestPCI()}
	}
}

// checkGuests refuses what no virtual machine can have.
func (w *work) checkGuests() error {
	for _, n := range w.nodes {
		if n.guest() && len(n.endpoints)+boolToInt(n.managed) > maxGuestInterfaces {
			return at(&Conflict{n.title(), fmt.Sprintf("a virtual machine with %d interfaces", len(n.endpoints)),
				fmt.Sprintf("at most %d: a guest's PCI bus has no more slots", maxGuestInterfaces)}, n.steps())
		}
	}
	for _, l := range w.links {
		guests := slices.DeleteFunc(slices.Clone(l.endpoints), func(e *endpoint) bool { return !e.node.guest() })
		d := l.kind.Descriptor()
		if d.Guest == spec.GuestNone && len(guests) > 0 {
			return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is in a virtual machine, which cannot join a %s link", guests[0], l.kind), spec.UseAnyEnds()}, l.steps())
		}
		if d.JoinsTaps(len(guests)) {
			return at(&Conflict{"link " + l.name, "both ends are in virtual machines, whose tap devices need a link with a bridge or switch between them", spec.UseAnyEnds()}, l.steps())
		}
	}
	if w.stream != nil {
		from, to := w.path[0].node, w.path[len(w.path)-1].node
		if from != to && (from.guest() || to.guest()) {
			return at(&Conflict{"traffic", "one end is in a virtual machine, whose time stamp counter differs from the other end's",
				"end the traffic in nodes of the host, or at two interfaces of the one machine"}, []string{"traffic"})
		}
	}
	return nil
}

// vmMemory is a guest's memory.
func (n *node) vmMemory() int64 {
	if n.spec.Memory > 0 {
		return int64(n.spec.Memory)
	}
	return defaultVMMemory
}

// vmHuge reports whether a guest's memory is in the host's hugepages: where the file asks for them
// explicitly, or where small pages would slow down the guest's DPDK.
func (w *work) vmHuge(n *node) bool {
	switch w.mode() {
	case spec.HugepagesReserve:
		return true
	case spec.HugepagesNone:
		return false
	}
	return slices.ContainsFunc(n.endpoints, func(e *endpoint) bool { return e.device != nil })
}

// vmResult is a node's virtual machine; nil for another runtime.
func (w *work) vmResult(n *node) *VM {
	if !n.guest() {
		return nil
	}
	vm := &VM{
		VCPUs: 1, EmulatorCPUs: w.cpus.housekeeping, MemoryBytes: n.vmMemory(),
		Huge: w.vmHuge(n), MemoryNode: n.memoryNodes[0],
	}
	if n.spec.VM != nil {
		vm.VM = *n.spec.VM
	}
	defaultTo(&vm.Kernel, "debian")
	defaultTo(&vm.Acceleration, spec.AccelerationAuto)
	switch {
	case n.exclusive:
		vm.VCPUs, vm.Pinned = len(n.cpus), true
		if n.receive != nil && n.receive.CPUsExclusive {
			vm.VCPUs += len(n.receive.CPUs)
		}
	case n.spec.CPUs > 0:
		vm.VCPUs = n.spec.CPUs
	}
	if n.dpdk != nil {
		vm.GuestHugepages = int((n.dpdk.MemoryBytes+guestPage-1)/guestPage) + guestHugepageSlack
	}
	return vm
}

// guestDPDK sets what the engine in a guest tells DPDK: the hugepages are the guest's own, on its
// only NUMA node, and it probes the functions from the plan.
func (w *work) guestDPDK(n *node) error {
	n.dpdk.Huge, n.dpdk.MemoryNode = true, 0
	for _, e := range n.endpoints {
		if e.device != nil {
			n.dpdk.PCI = append(n.dpdk.PCI, e.device.Arguments)
		}
	}
	if len(n.dpdk.PCI) > maxPCI {
		return at(&Conflict{n.title(), fmt.Sprintf("its engine opens more than %d PCI devices", maxPCI), "spread them over several nodes"}, n.steps())
	}
	if least := n.dpdk.MemoryBytes + (256 << 20); n.vmMemory() < least {
		return at(&Conflict{n.title(), fmt.Sprintf("its memory is %s, and DPDK takes %s of it", terminal.MiB(n.vmMemory()), terminal.MiB(n.dpdk.MemoryBytes)),
			fmt.Sprintf("give it %s or more (--set nodes.%s.memory=%dMiB)", terminal.MiB(least), n.name, least>>20)}, n.steps())
	}
	return nil
}

// vmDemand is how many of the host's hugepages a guest's memory takes; false where it is ordinary
// memory.
func (w *work) vmDemand(n *node) (HugepageDemand, bool) {
	if !n.guest() || !w.vmHuge(n) || w.pageBytes() == 0 {
		return HugepageDemand{}, false
	}
	return HugepageDemand{
		Who: "the memory of " + n.title(), MemoryNode: n.memoryNodes[0],
		Pages: int((n.vmMemory() + w.pageBytes() - 1) / w.pageBytes()),
	}, true
}

// GuestCPU converts a CPU of the plan to the number that an engine in the node uses.
func (p *Plan) GuestCPU(nodeName string, cpu int) int {
	if n := p.Node(nodeName); n != nil {
		return n.GuestCPU(cpu)
	}
	return cpu
}
