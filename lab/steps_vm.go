package lab

import (
	"nines.dev/nines/host"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// vmSteps are those of a virtual machine, which starts when its links are made.
func vmSteps(add func(string, ...any), n plan.Node) {
	if !node.IsVM(n) {
		return
	}
	memory := "of ordinary memory"
	if n.VM.Huge {
		memory = "in the host's hugepages"
	}
	add("node %s: start QEMU with the kernel %s, %d MiB %s, its other threads on CPUs %s", n.Name, n.VM.Kernel,
		n.VM.MemoryBytes>>20, memory, host.FormatCPUList(n.VM.EmulatorCPUs))
	for i := range n.VM.VCPUs {
		cpus := n.CPUs
		if n.VM.Pinned {
			cpus = cpus[i : i+1]
		}
		add("node %s: pin CPU %d of the guest to CPUs %s", n.Name, i, host.FormatCPUList(cpus))
	}
}

// pairName is what a node's interface and the fabric's end are.
func pairName(e plan.Endpoint) string {
	if e.Guest {
		return "tap of QEMU's for"
	}
	return "veth pair"
}
