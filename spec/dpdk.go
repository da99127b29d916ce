package spec

// DPDK sets up the engines and switches that use DPDK.
type DPDK struct {
	// Hugepages says where their memory comes from (default auto).
	Hugepages Hugepages `yaml:"hugepages,omitempty" json:"hugepages,omitempty"`
	// Memory is what each engine reserves for its packets; 0: what its ports need, and at least 64
	// MiB.
	Memory Size `yaml:"memory,omitempty" json:"memory,omitempty"`
	// Driver is how an engine with the backend dpdk opens the interface of a kernel link (default
	// af_packet).
	Driver DPDKDriver `yaml:"driver,omitempty" json:"driver,omitempty"`
	// Device replaces what the plan would open, by "node:interface": an argument of
	// DPDK's --vdev that begins with a driver's name and a number, such as net_null0 or
	// net_pcap0,rx_pcap=/a.pcap, or a PCI address.
	Device map[string]string `yaml:"device,omitempty" json:"device,omitempty"`
}

// Hugepages says where the memory of DPDK comes from.
type Hugepages string

// HugepagesAuto takes free hugepages, and refuses where there are too few; HugepagesReserve
// reserves the missing ones and frees them when the lab is taken down; HugepagesNone takes ordinary
// memory, and is slower.
const (
	HugepagesAuto    Hugepages = "auto"
	HugepagesReserve Hugepages = "reserve"
	HugepagesNone    Hugepages = "none"
)

// DPDKDriver is DPDK's way to a kernel interface.
type DPDKDriver string

// DriverAFPacket is TPACKET_V2 rings; DriverAFXDP is AF_XDP sockets.
const (
	DriverAFPacket DPDKDriver = "af_packet"
	DriverAFXDP    DPDKDriver = "af_xdp"
)
