package result

// SeenPath is what a trial's packets themselves, where they arrived, and the kernel's counters tell of the path that
// they took.
type SeenPath struct {
	// Words are the whole in few words, such as "routed by dut: TTL -1"; empty where nothing was seen.
	Words string `json:"words"`
	// Declared is true where the file says, or nines knows, what was to be seen; then all of it was, unless the trial is
	// invalid.
	Declared bool `json:"declared"`
	// AwaitedNs is how long it took until probes came as declared, in the first trial on a network; 0 in others.
	AwaitedNs int64 `json:"awaited_ns,omitempty"`
	// Ended says where probes ended, and why, where no packet arrived.
	Ended []string `json:"ended,omitempty"`
	// Unseen says why nobody could read the headers of measured packets; empty where an engine did.
	Unseen string `json:"unseen,omitempty"`
	// OfWarmup is true where the ways are those of the warm-up's packets, without MAC addresses: what the kernel tells a
	// socket beside them, where it lets nobody read headers.
	OfWarmup bool `json:"of_warmup,omitempty"`
	// Ways are the different headers of the measured packets, and OtherPackets those beyond what there was room for.
	Ways         []SeenWay `json:"ways"`
	OtherPackets uint64    `json:"other_packets,omitempty"`
	// Nodes are the kernel's counters of the nodes on the path, over the trial with its warm-up and drain.
	Nodes []SeenNode `json:"nodes,omitempty"`
}

// SeenNode is what the kernel counted in one node; what stayed 0 is left out. Counts are of all packets there, ARP and
// others included.
type SeenNode struct {
	Node string `json:"node"`
	// Counters are of IP and UDP, by their names in /proc/net/snmp and netstat, such as Ip.ForwDatagrams.
	Counters map[string]uint64 `json:"counters"`
	// Interfaces have rx_packets, rx_errors, rx_dropped and the same of tx, by interface.
	Interfaces map[string]map[string]uint64 `json:"interfaces"`
	Services   []SeenService                `json:"services,omitempty"`
}

// SeenService is the CPU time of a program of the user's.
type SeenService struct {
	Name  string `json:"name"`
	CPUNs int64  `json:"cpu_ns"`
}

// SeenWay is packets with the same headers, but for what tells flows apart. A MAC address of zeros is that of a device
// without one.
type SeenWay struct {
	Packets         uint64 `json:"packets"`
	Words           string `json:"words"`
	SourceMAC       string `json:"source_mac"`
	DestinationMAC  string `json:"destination_mac"`
	TTL             int    `json:"ttl"`
	SourceIP        string `json:"source_ip"`
	DestinationIP   string `json:"destination_ip"`
	SourcePort      int    `json:"source_port"`
	DestinationPort int    `json:"destination_port"`
	IPBytes         int    `json:"ip_bytes"`
}

// Ends are where probes ended; none where packets arrived.
func (s *SeenPath) Ends() []string {
	if s == nil {
		return nil
	}
	return s.Ended
}
