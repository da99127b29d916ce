package node

import (
	"strconv"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/boot"
)

// Paths in a virtual machine: the engine and nines-node are in the same folder as in containers.
const (
	// GuestEngineSocket is the engine's control socket in the guest, and guestEngineLog
	// the file with its errors.
	GuestEngineSocket = "/run/nines-engine.sock"
	guestEngineLog    = "/run/nines-engine.log"
	// GuestEnginePort is the virtio-serial port that leads to the socket.
	GuestEnginePort = "nines.engine"
	// guestEngine and GuestNode are the programs nines-engine and nines-node.
	guestEngine = containerFolder + "/nines-engine"
	GuestNode   = containerFolder + "/nines-node"
	// GuestPoller is nines-poller, and GuestCache has what is built for the guest's kernel (NINES_CACHE_DIR).
	GuestPoller = containerFolder + "/nines-poller"
	GuestCache  = containerFolder + "/cache"
	// GuestScript is what scripts call, and guestScripts has the nodes' folders of scripts.
	GuestScript  = containerFolder + "/nines-script"
	guestScripts = "/run/nines-scripts"
)

// guestSessions is how many commands may run in a guest at once, without detached ones: the engines
// of a measurement, nines exec, shells.
const guestSessions = 6

// scriptSessions are those of a guest with scripts besides: the relay, the script, and commands that it runs in the
// background. Each is a port that the guest looks at now and then.
const scriptSessions = 8

// GuestSetup is what nines-node needs to set up a guest.
type GuestSetup struct {
	Plan *plan.Plan `json:"plan"`
	Node string     `json:"node"`
	// Sysctls are written in this order, when the interfaces exist.
	Sysctls []map[string]string `json:"sysctls"`
}

// Port is what a virtual machine's interface is connected to.
type Port struct {
	// FD is the descriptor of an open tap in QEMU; 0 where the interface has none.
	FD int
	// Socket is the vhost-user socket; QEMU listens on it if Server.
	Socket string
	Server bool
	// HostDevice is the PCI address of a function of the host that is bound to vfio-pci.
	HostDevice string
}

// vmFiles are a machine's files and what the host offers it.
type vmFiles struct {
	// Dir is the machine's folder, EngineSocket the control socket of its engine on the
	// host.
	Dir, EngineSocket string
	// Kernel and Initrd are what it boots; Modules is a disk for /lib/modules, empty where the
	// kernel needs none, and Root that of a node with an image.
	Kernel, Initrd, Modules, Root string
	Accelerator                   vm.Accelerator
	// VhostNet is true where the host's kernel moves the frames of taps (vhost-net).
	VhostNet bool
	// NUMA is true where memory can be bound to one of several NUMA nodes.
	NUMA bool
	// PageBytes is the size of the host's hugepages.
	PageBytes int64
}

// vmConfig returns the machine of a node. ports are those of its interfaces, in order. It is pure.
func vmConfig(n plan.Node, files vmFiles, ports []Port) vm.Config {
	assigned := n.VM
	c := vm.Config{
		Dir: files.Dir, Kernel: files.Kernel, Initrd: files.Initrd, Accelerator: files.Accelerator,
		Boot:   boot.Parameters{Name: n.HostName, Modules: guestModules(n)},
		CPU:    vm.CPU{Cores: assigned.VCPUs},
		Memory: vm.Memory{MiB: int(assigned.MemoryBytes >> 20)},
		Ports:  []vm.Port{{Name: GuestEnginePort, Socket: files.EngineSocket}},
		Agents: guestSessions, Detached: true,
	}
	if n.Scripts.Any() {
		c.Agents += scriptSessions
	}
	if files.Accelerator == vm.KVM {
		c.CPU.Model = steadyClock
	}
	if files.Modules != "" {
		c.Disks = []vm.Disk{{Name: "modules", Path: files.Modules, ReadOnly: true}}
		c.Boot.Mounts = []boot.Mount{{Name: "modules", Folder: "/lib/modules", Disk: true, ReadOnly: true}}
	}
	if files.Root != "" {
		c.Disks = append(c.Disks, vm.Disk{Name: "root", Path: files.Root, ReadOnly: true})
		c.Boot.Root = "root"
	}
	if assigned.Huge {
		c.Memory.HugepageBytes = files.PageBytes
	}
	if files.NUMA {
		c.Memory.HostNodes = strconv.Itoa(assigned.MemoryNode)
	}
	if assigned.GuestHugepages > 0 {
		c.Append = append(c.Append, "hugepages="+strconv.Itoa(assigned.GuestHugepages))
	}
	c.Append = append(c.Append, strings.Fields(assigned.CommandLine)...)
	for i, iface := range n.Interfaces {
		nic := vm.NIC{Model: vm.Virtio, MAC: iface.MAC}
		switch p := ports[i]; {
		case p.HostDevice != "":
			c.HostDevices = append(c.HostDevices, p.HostDevice)
			continue
		case p.Socket != "":
			nic.Backend, nic.Socket, nic.Server = vm.VhostUser, p.Socket, p.Server
			c.Memory.Shared = true
		default:
			nic.Backend, nic.FD, nic.VhostNet = vm.Tap, p.FD, files.VhostNet
		}
		c.NICs = append(c.NICs, nic)
	}
	return c
}

// steadyClock is the host's CPU model with an invariant time stamp counter, which the engine in the
// guest uses for its times. QEMU hides it from guests that may migrate to another host
// (qemu-cpu-models(7), invtsc).
const steadyClock = "host,migratable=off,invtsc=on"

// guestModules are the modules that a guest's interfaces need. A missing module shows as an error
// where it is used.
func guestModules(n plan.Node) []string {
	modules := []string{"virtio_net"}
	for _, iface := range n.Interfaces {
		if iface.Device != nil && !iface.Device.Kernel {
			return append(modules, "uio_pci_generic", "vfio-pci")
		}
	}
	return modules
}
