package vm

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"nines.dev/nines/vm/boot"
)

// Config describes a machine.
type Config struct {
	// Dir is an existing folder for the machine's sockets and its console log.
	Dir string
	// ConsolePipe is a FIFO that the console's output goes to, for a program that bounds the log; it has to be open for
	// reading when QEMU starts. Empty: QEMU writes the log itself.
	ConsolePipe string
	// Kernel and Initrd are files; image.Kernel has both.
	Kernel, Initrd string
	// Boot are the guest's boot parameters, Append further words of the kernel command
	// line.
	Boot   boot.Parameters
	Append []string

	CPU    CPU
	Memory Memory
	// NUMA divides CPUs and memory; empty is one node.
	NUMA []NUMANode

	Disks  []Disk
	Shares []Share
	NICs   []NIC
	// HostDevices are PCI addresses on the host, such as 0000:3b:02.1, bound to
	// vfio-pci. Each gets its own root port in the guest.
	HostDevices []string
	// IOMMU gives the guest an Intel IOMMU with interrupt remapping, which vfio in the
	// guest needs.
	IOMMU bool

	// Accelerator is KVM or TCG; Choose finds out which.
	Accelerator Accelerator
	// Ports are additional virtio-serial ports.
	Ports []Port
	// Agents is the number of simultaneous sessions; 0 means 1.
	Agents int
	// Detached keeps the machine when this process ends; Attach finds it again.
	Detached bool
	// Nice is the nice value of QEMU's autogroup (sched(7)), from -20 to 19.
	Nice int
}

// CPU is the topology of a machine's processors; 0 means 1.
type CPU struct {
	Sockets, Cores, Threads int
	// Model is QEMU's name of a CPU model; empty means all features of the accelerator.
	Model string
}

// Count is the number of the guest's CPUs.
func (c CPU) Count() int {
	return max(c.Sockets, 1) * max(c.Cores, 1) * max(c.Threads, 1)
}

// Memory is a machine's memory.
type Memory struct {
	MiB int
	// Shared lets other processes map it, as vhost-user needs.
	Shared bool
	// Hugepages is the hugetlbfs folder that it comes from; empty takes ordinary pages.
	Hugepages string
	// HugepageBytes is the size of the host's hugepages to use without such a folder; 0
	// takes ordinary pages.
	HugepageBytes int64
	// HostNodes are the host's NUMA nodes that it comes from, such as 0 or 0-1; empty
	// means any.
	HostNodes string
}

// NUMANode is a NUMA node of the guest. The nodes have equal shares of memory.
type NUMANode struct {
	// CPUs are numbers of the guest's CPUs.
	CPUs []int
}

// Disk is a virtio-blk disk, whose serial number is its name.
type Disk struct {
	// Name is at most 20 characters long, as virtio-blk's serial numbers are.
	Name, Path string
	// ReadOnly disks can be shared by machines.
	ReadOnly bool
}

// Port is a virtio-serial port, which the guest finds by its name
// (/sys/class/virtio-ports). On the host it is a socket on which QEMU listens.
type Port struct {
	Name, Socket string
}

// Share is a folder of the host that the guest can mount with 9p; Debian's cloud kernels
// cannot.
type Share struct {
	Name, Path string
	ReadOnly   bool
}

// Accelerator is how a guest's instructions are executed.
type Accelerator string

// The accelerators: KVM executes them on the CPU; TCG translates them, ten times slower or
// more, so that timings mean nothing.
const (
	KVM Accelerator = "kvm"
	TCG Accelerator = "tcg"
)

// NICBackend says what a guest's network card is connected to.
type NICBackend string

// The backends.
const (
	// Tap is a tap device of the network namespace in which QEMU starts.
	Tap NICBackend = "tap"
	// Hub is a hub inside this QEMU: it connects all cards on it with each other.
	Hub NICBackend = "hub"
	// VhostUser is a vhost-user socket; the memory must be Shared.
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
	// Tap is the name of the tap device; empty if the device is in another network
	// namespace and open as QEMU's file descriptor FD. VhostNet lets the host's kernel
	// forward its frames, bypassing QEMU.
	Tap      string
	FD       int
	VhostNet bool
	// Hub is the number of the hub.
	Hub int
	// Socket is vhost-user's; with Server QEMU listens on it, otherwise it connects.
	Socket string
	Server bool
	// QueuePairs are for virtio-net; 0 means 1. A tap device must have as many queues.
	QueuePairs int
	// NUMANode is the guest's NUMA node of the card; 0 is the default.
	NUMANode int
}

// maxSocketPath is sizeof sun_path without the final NUL, unix(7).
const maxSocketPath = 107

// Check reports what is wrong with a Config in clearer words than QEMU would.
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

// maxCommandLine is COMMAND_LINE_SIZE of arch/x86/include/asm/setup.h without the final
// NUL.
const maxCommandLine = 2047

// ConsoleLog is the file with the output of the guest's kernel. Where something bounds it, what was before is in
// ConsoleLog.1.
func (c Config) ConsoleLog() string { return filepath.Join(c.Dir, "console.log") }

func (c Config) qmpSocket() string { return filepath.Join(c.Dir, "qmp") }

func (c Config) agentSocket(number int) string {
	return filepath.Join(c.Dir, fmt.Sprintf("agent%d", number))
}
