package host

import (
	"nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/pci"
)

// Schema names the format of host.json.
const Schema = "nines/host/v1"

// Inventory is a machine as plain data.
type Inventory struct {
	Schema string `json:"schema"`
	// Source says where the inventory comes from if it is not a live reading, such as
	// "constructed from …".
	Source       string       `json:"source,omitempty"`
	Hostname     string       `json:"hostname"`
	Kernel       Kernel       `json:"kernel"`
	Distribution Distribution `json:"distribution"`
	// CPUs are all that the kernel calls present, sorted by ID.
	CPUs []CPU `json:"cpus"`
	// AllowedCPUs are those that this process may run on (its cpuset and affinity).
	AllowedCPUs []int `json:"allowed_cpus"`
	// CPUFlags are the flags of /proc/cpuinfo that matter to measurements.
	CPUFlags []string `json:"cpu_flags,omitempty"`
	// SMT is the kernel's control value: on, off, forceoff, notsupported; empty if
	// unknown.
	SMT       string     `json:"smt,omitempty"`
	Caches    []Cache    `json:"caches,omitempty"`
	NUMANodes []NUMANode `json:"numa_nodes"` // at least one
	// MemoryBytes is the machine's memory.
	MemoryBytes          int64       `json:"memory_bytes"`
	Hugepages            []Hugepages `json:"hugepages,omitempty"`
	TransparentHugepages string      `json:"transparent_hugepages,omitempty"`
	// NICs are the interfaces of the reader's network namespace.
	NICs []NIC `json:"nics"`
	// Networks are those in ManagementRange that the host has routes to, in the kernel's order.
	Networks []Network `json:"networks,omitempty"`
	// Uplinks are interfaces that the experiment asks for by name, to put its management network on. They are
	// not read otherwise, as they have the machine's addresses.
	Uplinks []Uplink `json:"uplinks,omitempty"`
	// PCIDevices are the network devices that programs can drive: those bound to
	// vfio-pci or to a UIO driver.
	PCIDevices []PCIDevice `json:"pci_devices,omitempty"`
	// Functions are the physical PCI functions of network cards, by address.
	Functions      []Function     `json:"functions,omitempty"`
	IOMMU          IOMMU          `json:"iommu"`
	Cgroup         Cgroup         `json:"cgroup"`
	Features       []Feature      `json:"features"` // sorted by name
	Virtualisation Virtualisation `json:"virtualisation"`
	Clock          Clock          `json:"clock"`
	Mitigations    []Mitigation   `json:"mitigations,omitempty"`
	CPUIdle        CPUIdle        `json:"cpu_idle"`
	Privileges     Privileges     `json:"privileges"`
	// Config holds the kernel configuration's options that matter, without CONFIG_: y,
	// m or a number. It is empty if no configuration was found; otherwise an absent
	// option is not set.
	Config map[string]string `json:"config,omitempty"`
	// Settings are the kernel settings that affect latency, by file; for a list such as
	// "always [madvise] never" the chosen word. A setting that the kernel lacks, or
	// that the reader may not read, is absent.
	Settings map[string]string `json:"settings,omitempty"`
	// Interrupts are those of devices, LocalInterrupts those that CPUs raise themselves
	// or send each other (LOC, RES, TLB, …).
	Interrupts      []Interrupt `json:"interrupts,omitempty"`
	LocalInterrupts []Interrupt `json:"local_interrupts,omitempty"`
	// Usage is what CPUs did since they started, sorted by CPU.
	Usage []CPUUsage `json:"usage,omitempty"`
	// Services are the running programs that change settings or run on all CPUs, by the
	// kernel's name for them, of 15 characters at most.
	Services []string `json:"services,omitempty"`
	// Kubelet is nil where none runs, or nothing is known of its configuration.
	Kubelet *Kubelet `json:"kubelet,omitempty"`
	// SwapBytes is the size of the configured swap space.
	SwapBytes int64 `json:"swap_bytes,omitempty"`
	// WakeLatencyUS is the longest wake-up from idle that a program allows by holding
	// /dev/cpu_dma_latency; nil if no program does, or the reader is not root.
	WakeLatencyUS *int `json:"wake_latency_us,omitempty"`
}

// Kernel is the running kernel.
type Kernel struct {
	Release     string `json:"release"`
	Version     string `json:"version"`
	Machine     string `json:"machine,omitempty"`
	CommandLine string `json:"command_line"`
	// Image is the running kernel's file in /boot; empty if there is none, as in a
	// virtual machine that gets its kernel from outside.
	Image string `json:"image,omitempty"`
	// Preemption is none, voluntary, full, lazy or rt; dynamic if the kernel can choose
	// it at boot and does not report the choice; empty if unknown.
	Preemption string `json:"preemption,omitempty"`
	RealTime   bool   `json:"real_time"` // PREEMPT_RT
}

// Distribution is what /etc/os-release says.
type Distribution struct {
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
	Name    string `json:"name,omitempty"`
}

// CPU is one logical CPU, a hardware thread.
type CPU struct {
	ID     int  `json:"id"`
	Online bool `json:"online"`
	// Package, Core and NUMANode are -1 while the CPU is offline; Core is unique
	// within its package only.
	Package  int `json:"package"`
	Core     int `json:"core"`
	NUMANode int `json:"numa_node"`
	// Siblings are the threads of its core, including itself.
	Siblings []int `json:"siblings,omitempty"`
	// L2 and L3 are the CPUs that share its cache of that level.
	L2 []int `json:"l2,omitempty"`
	L3 []int `json:"l3,omitempty"`
	// Governor, MinMHz and MaxMHz are empty where the machine has no cpufreq.
	Governor string `json:"governor,omitempty"`
	MinMHz   int    `json:"min_mhz,omitempty"`
	MaxMHz   int    `json:"max_mhz,omitempty"`
	// Isolated is from isolcpus= or an isolated partition, NoHzFull from nohz_full=.
	Isolated bool   `json:"isolated,omitempty"`
	NoHzFull bool   `json:"nohz_full,omitempty"`
	Model    string `json:"model,omitempty"`
	// EnergyPreference is whether the CPU prefers performance or power saving
	// (energy_performance_preference); empty if it has no such setting.
	EnergyPreference string `json:"energy_preference,omitempty"`
	// IdleState is the deepest sleep state that the CPU may enter, and IdleExitUS its
	// exit latency; empty if it has no sleep states.
	IdleState  string `json:"idle_state,omitempty"`
	IdleExitUS int    `json:"idle_exit_us,omitempty"`
}

// Cache is one cache and the CPUs that share it.
type Cache struct {
	Level     int    `json:"level"`
	Type      string `json:"type"` // Data, Instruction, Unified
	SizeBytes int64  `json:"size_bytes"`
	CPUs      []int  `json:"cpus"`
}

// NUMANode is a set of CPUs with local memory.
type NUMANode struct {
	ID               int         `json:"id"`
	CPUs             []int       `json:"cpus"`
	MemoryTotalBytes int64       `json:"memory_total_bytes"`
	MemoryFreeBytes  int64       `json:"memory_free_bytes"`
	Hugepages        []Hugepages `json:"hugepages,omitempty"`
	// Distances are to the nodes in the order of Inventory.NUMANodes; 10 is local.
	Distances []int `json:"distances,omitempty"`
}

// Hugepages counts the pages of one size.
type Hugepages struct {
	SizeBytes int64 `json:"size_bytes"`
	Total     int64 `json:"total"`
	Free      int64 `json:"free"`
}

// NIC is one network interface.
type NIC struct {
	Name   string `json:"name"`
	Driver string `json:"driver,omitempty"`
	// PCIAddress is empty for an interface without a PCI device.
	PCIAddress string `json:"pci_address,omitempty"`
	NUMANode   int    `json:"numa_node"` // -1: unknown
	// SpeedMbit is 0 if the interface does not report it (down, or virtual).
	SpeedMbit int    `json:"speed_mbit,omitempty"`
	MAC       string `json:"mac,omitempty"`
	MTU       int    `json:"mtu"`
	State     string `json:"state,omitempty"` // operstate
	Queues    int    `json:"queues,omitempty"`
	// TotalVFs is 0 without SR-IOV; NumVFs is how many exist now.
	TotalVFs int  `json:"total_vfs,omitempty"`
	NumVFs   int  `json:"num_vfs,omitempty"`
	Virtual  bool `json:"virtual"`            // lo, veth, bridge, …: no device below
	Wireless bool `json:"wireless,omitempty"` // cannot carry a macvlan's addresses
	// Interrupts are the IDs of its entries in Inventory.Interrupts.
	Interrupts []string `json:"interrupts,omitempty"`
	// Coalescing is how long it collects packets before an interrupt; nil if it does
	// not report that.
	Coalescing *ethtool.Coalescing `json:"coalescing,omitempty"`
	// SleepsL1 is true if its PCIe link may sleep in L1 (ASPM).
	SleepsL1 bool `json:"sleeps_l1,omitempty"`
}

// Interrupt is one line of /proc/interrupts.
type Interrupt struct {
	// ID is a number, or the kernel's short name of a local interrupt such as LOC.
	ID string `json:"id"`
	// Name is the driver's name for it, or the kernel's description.
	Name string `json:"name,omitempty"`
	// Counts are by CPU since the CPU started; CPUs without any are left out.
	Counts map[int]int64 `json:"counts,omitempty"`
	// Affinity is where the interrupt may arrive, Effective where it does, as "0-3,8";
	// both are empty for local ones.
	Affinity  string `json:"affinity,omitempty"`
	Effective string `json:"effective,omitempty"`
}

// CPUUsage is how one CPU spent its time, in ticks of 10 ms (proc_stat(5), USER_HZ).
type CPUUsage struct {
	CPU     int   `json:"cpu"`
	Total   int64 `json:"total"`
	Idle    int64 `json:"idle"`
	IRQ     int64 `json:"irq"`
	SoftIRQ int64 `json:"softirq"`
	// Steal is the time that the hypervisor gave to others while the CPU wanted to run.
	Steal int64 `json:"steal"`
}

// Package pci reads what an inventory has of PCI.
type (
	PCIDevice       = pci.Device
	Function        = pci.Function
	VirtualFunction = pci.VirtualFunction
	VFSettings      = pci.VFSettings
	IOMMU           = pci.IOMMU
)

// The cgroup modes.
const (
	CgroupV1     = "v1"
	CgroupV2     = "v2"
	CgroupHybrid = "hybrid" // both are mounted
	CgroupNone   = "none"
)

// Cgroup says which control groups are mounted where.
type Cgroup struct {
	Mode   string        `json:"mode"`
	Mounts []CgroupMount `json:"mounts,omitempty"`
}

// CgroupMount is one hierarchy.
type CgroupMount struct {
	Path        string   `json:"path"`
	Version     int      `json:"version"` // 1 or 2
	Controllers []string `json:"controllers"`
	// Self is the group of the reading process in this hierarchy ("/…").
	Self string `json:"self,omitempty"`
}

// Controller returns the mount that has a controller.
func (c Cgroup) Controller(name string) (CgroupMount, bool) {
	for _, m := range c.Mounts {
		for _, have := range m.Controllers {
			if have == name {
				return m, true
			}
		}
	}
	return CgroupMount{}, false
}

// Virtualisation says what the machine runs in.
type Virtualisation struct {
	// Hypervisor is kvm, vmware, …, or "unknown" if only the CPU's hypervisor flag
	// shows one; empty on bare metal.
	Hypervisor string `json:"hypervisor,omitempty"`
	// Container is docker, lxc, podman, …; empty outside of one.
	Container string `json:"container,omitempty"`
}

// Clock is the kernel's time source and the TSC's properties.
type Clock struct {
	Source      string   `json:"source,omitempty"`
	Available   []string `json:"available,omitempty"`
	ConstantTSC bool     `json:"constant_tsc"`
	NonstopTSC  bool     `json:"nonstop_tsc"`
}

// Mitigation is one line of /sys/devices/system/cpu/vulnerabilities.
type Mitigation struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// CPUIdle is how idle CPUs sleep.
type CPUIdle struct {
	Driver   string      `json:"driver,omitempty"`
	Governor string      `json:"governor,omitempty"`
	States   []IdleState `json:"states,omitempty"`
}

// IdleState is one sleep state of CPU 0.
type IdleState struct {
	Name      string `json:"name"`
	LatencyUS int    `json:"latency_us"` // to wake up
	Disabled  bool   `json:"disabled,omitempty"`
}

// Privileges are those of the reading process.
type Privileges struct {
	Root         bool     `json:"root"`         // effective user 0
	Capabilities []string `json:"capabilities"` // effective ones that nines uses, such as net_admin
}
