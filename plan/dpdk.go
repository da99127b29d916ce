package plan

import "nines.dev/nines/spec"

// DPDK is what a node's engine tells DPDK's environment layer (EAL).
type DPDK struct {
	// Prefix separates the files of one engine from another's (--file-prefix).
	Prefix      string `json:"prefix"`
	MemoryBytes int64  `json:"memory_bytes"`
	MemoryNode  int    `json:"memory_node"`
	// Huge is false where ordinary memory is used (--no-huge).
	Huge bool `json:"huge"`
	// PCI are the addresses of the devices that the EAL may probe.
	PCI []string `json:"pci,omitempty"`
}

// Device is an interface that DPDK opens.
type Device struct {
	// Driver is the EAL's: net_virtio_user, net_memif, net_af_packet, net_af_xdp, or
	// empty for a PCI function or what the user wrote.
	Driver string `json:"driver,omitempty"`
	// Socket is that of the endpoint; Server is true if the engine listens on it.
	Socket string `json:"socket,omitempty"`
	Server bool   `json:"server,omitempty"`
	// Claimed is true for the socket of a port that a pod claims: its path, and which end listens,
	// are known once the pod runs.
	Claimed bool `json:"claimed,omitempty"`
	// Arguments is what the user wrote in dpdk.device instead.
	Arguments string `json:"arguments,omitempty"`
	// Kernel is true if the interface is also a kernel device in the node.
	Kernel bool `json:"kernel,omitempty"`
}

// Attach is how an endpoint attaches to the program of its link.
type Attach string

// The ways to attach: a vhost-user socket, a memif socket, or the fabric's end of a veth pair.
const (
	AttachVhost Attach = "vhost"
	AttachMemif Attach = "memif"
	AttachVeth  Attach = "veth"
)

// Switch is the program of a link.
type Switch struct {
	// CPUs are for polling; the program's other threads run on HousekeepingCPU.
	CPUs            []int `json:"cpus"`
	HousekeepingCPU int   `json:"housekeeping_cpu"`
	// DPDK is nil for a program that does not use it.
	DPDK *DPDK `json:"dpdk,omitempty"`
	// Settings are the user's settings, with all defaults filled in.
	Settings spec.Switch `json:"settings"`
	Why      []string    `json:"why"`
}

// Hugepages is how many of the host's hugepages the lab takes.
type Hugepages struct {
	Mode      spec.Hugepages `json:"mode"`
	PageBytes int64          `json:"page_bytes"`
	// Demands are per user and memory node, in the order of nodes, then links.
	Demands []HugepageDemand `json:"demands"`
}

// HugepageDemand is how many one process takes.
type HugepageDemand struct {
	Who        string `json:"who"`
	MemoryNode int    `json:"memory_node"`
	Pages      int    `json:"pages"`
}
