package vm

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"nines.dev/nines/vm/boot"
)

// Config is a machine.
type Config struct {
	// Dir is an existing folder for the machine's sockets and its console's log.
	Dir string
	// Kernel and Initrd are files; image.Kernel has both.
	Kernel, Initrd string
	// Boot is what the guest is told, and Append what the kernel is told beside that.
	Boot   boot.Parameters
	Append []string

	CPU    CPU
	Memory Memory
	// NUMA divides CPUs and memory; empty is one node.
	NUMA []NUMANode

	Disks  []Disk
	Shares []Share
	NICs   []NIC
	// HostDevices are PCI addresses of the host, as 0000:3b:02.1, bound to vfio-pci. A
	// guest sees each behind a root port of its own.
	HostDevices []string
	// IOMMU gives the guest an Intel IOMMU with interrupt remapping, which vfio in the
	// guest needs.
	IOMMU bool

	// Accelerator is KVM or TCG; Choose finds out which.
	Accelerator Accelerator
	// Ports are further ports of virtio-serial.
	Ports []Port
	// Agents is how many sessions there can be at the same time; 0 means 1.
	Agents int
	// Detached keeps the machine when this process ends; Attach finds it again.
	Detached bool
}

// CPU is the topology of a machine's processors; zeroes mean 1.
type CPU struct {
	Sockets, Cores, Threads int
	// Model is QEMU's name of one; empty means all that the accelerator can do.
	Model string
}

// Count is how many CPUs the guest sees.
func (c CPU) Count() int {
	return max(c.Sockets, 1) * max(c.Cores, 1) * max(c.Threads, 1)
}

// Memory is a machine's memory.
type Memory struct {
	MiB int
	// Shared lets other processes map it, as vhost-user needs.
	Shared bool
	// Hugepages is a folder with hugetlbfs to take it from; empty takes ordinary pages.
	Hugepages string
	// HugepageBytes is the size of the host's hugepages to take it from, without such a
	// folder; 0 takes ordinary pages.
	HugepageBytes int64
	// HostNodes are the NUMA nodes of the host to take it from, as 0 or 0-1; empty means
	// any.
	HostNodes string
}

// NUMANode is a NUMA node of the guest. Memory is divided among the nodes alike.
type NUMANode struct {
	// CPUs are numbers of the guest's CPUs.
	CPUs []int
}

// Disk is a disk of virtio-blk, whose serial number is its name.
type Disk struct {
	// Name is at most 20 characters long, as virtio-blk's serial numbers are.
	Name, Path string
	// ReadOnly disks can be shared by machines.
	ReadOnly bool
}

// Port is a port of virtio-serial, which the guest finds by its name
// (/sys/class/virtio-ports). On the host it is a socket on which QEMU listens.
type Port struct {
	Name, Socket string
}

// Share is a folder of the host's that the guest can mount with 9p; Debian's cloud
// kernels cannot.
type Share struct {
	Name, Path string
	ReadOnly   bool
}

// Accelerator is how a guest's instructions are run.
type Accelerator string

// The accelerators: KVM runs them on the CPU; TCG translates them, ten times slower or
// more, so that timings mean nothing.
const (
	KVM Accelerator = "kvm"
	TCG Accelerator = "tcg"
)

// NICBackend says what a network card of the guest's is connected to.
type NICBackend string

// The backends.
const (
	// Tap is a tap device of the network namespace that QEMU is started in.
	Tap NICBackend = "tap"
	// Hub is a hub inside this QEMU: cards on the same hub are cabled to each other.
	Hub NICBackend = "hub"
	// VhostUser is a socket of vhost-user; the memory must be Shared.
	VhostUser NICBackend = "vhost-user"
)

// NICModel is a kind of network card.
type NICModel string

// The models.
const (
	// Virtio is virtio-net.
	Virtio NICModel = "virtio-net-pci"
	// IGB is Intel's 82576, a gigabit card with SR-IOV, and needs QEMU 8.0.
	IGB NICModel = "igb"
)

// NIC is a network card of the guest.
type NIC struct {
	Model   NICModel
	Backend NICBackend
	// MAC is its address; empty lets QEMU choose.
	MAC string
	// Tap is the name of the tap device; empty for one that is open in QEMU's file
	// descriptor FD, as it is in another network namespace. VhostNet has the host's kernel
	// carry its frames past QEMU.
	Tap      string
	FD       int
	VhostNet bool
	// Hub is the number of the hub.
	Hub int
	// Socket is vhost-user's; with Server QEMU listens on it, else it connects.
	Socket string
	Server bool
	// QueuePairs of virtio-net; 0 means 1. A tap device must have as many queues.
	QueuePairs int
	// NUMANode of the guest that the card is near to: 1 is the second. Node 0 is where
	// cards are.
	NUMANode int
}

// maxSocketPath is sizeof sun_path, less its end, unix(7).
const maxSocketPath = 107

// Check says what is wrong with a Config, before QEMU does in its own words.
func (c Config) Check() error {
	var errs []error
	complain := func(format string, arguments ...any) { errs = append(errs, fmt.Errorf(format, arguments...)) }
	if c.Kernel == "" {
		complain("a machine needs a kernel")
	}
	if c.Memory.MiB <= 0 {
		complain("a machine needs memory")
	}
	if c.Accelerator != KVM && c.Accelerator != TCG {
		complain("the accelerator of a machine is %s or %s, not %q", KVM, TCG, c.Accelerator)
	}
	if longest := c.agentSocket(max(c.Agents, 1) - 1); !filepath.IsAbs(c.Dir) || len(longest) > maxSocketPath {
		complain("a machine's folder is an absolute path, short enough for sockets (%d bytes): %s", maxSocketPath, c.Dir)
	}
	for _, disk := range c.Disks {
		if len(disk.Name) > 20 || disk.Name == "" {
			complain("the name of a disk has 1 to 20 characters: %q", disk.Name)
		}
	}
	seen := map[int]bool{}
	for _, node := range c.NUMA {
		for _, cpu := range node.CPUs {
			if cpu < 0 || cpu >= c.CPU.Count() || seen[cpu] {
				complain("CPU %d is in two NUMA nodes, or the machine has fewer CPUs", cpu)
			}
			seen[cpu] = true
		}
	}
	if len(c.NUMA) > 0 && len(seen) != c.CPU.Count() {
		complain("%d of %d CPUs are in a NUMA node: all or none", len(seen), c.CPU.Count())
	}
	for i, nic := range c.NICs {
		if nic.Backend == VhostUser && !c.Memory.Shared {
			complain("network card %d is of vhost-user, which needs shared memory", i)
		}
		if nic.NUMANode < 0 || nic.NUMANode > 0 && nic.NUMANode >= len(c.NUMA) {
			complain("network card %d is near NUMA node %d, which does not exist", i, nic.NUMANode)
		}
	}
	if words := strings.Join(c.commandLine(), " "); len(words) > maxCommandLine {
		complain("the kernel command line is %d characters long, of at most %d: %s", len(words), maxCommandLine, words)
	}
	return errors.Join(errs...)
}

// maxCommandLine is COMMAND_LINE_SIZE of arch/x86/include/asm/setup.h, less its end.
const maxCommandLine = 2047

// ConsoleLog is the file with what the guest's kernel has said.
func (c Config) ConsoleLog() string { return filepath.Join(c.Dir, "console.log") }

func (c Config) qmpSocket() string { return filepath.Join(c.Dir, "qmp") }

func (c Config) agentSocket(number int) string {
	return filepath.Join(c.Dir, fmt.Sprintf("agent%d", number))
}
