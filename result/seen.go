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
	// Unseen says why nobody could look; empty where an engine did.
	Unseen string `json:"unseen,omitempty"`
	// Ways are the different headers of the measured packets, and OtherPackets those beyond what there was room for.
	Ways         []SeenWay `json:"ways"`
	OtherPackets uint64    `json:"other_packets,omitempty"`
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
