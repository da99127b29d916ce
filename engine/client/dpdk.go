package client

// DPDK is the dpdk command, sent before the first DPDK port is opened.
type DPDK struct {
	Prefix      string   `json:"prefix"`
	MemoryBytes int64    `json:"memory_bytes"`
	MemoryNode  int      `json:"memory_node"`
	Huge        bool     `json:"huge"`
	PCI         []string `json:"pci,omitempty"`
	CPU         int      `json:"cpu"` // of DPDK's own threads
}

// DPDKStarted is the answer to DPDK.
type DPDKStarted struct {
	Version string   `json:"version"`
	Notes   []string `json:"notes"`
}

// StartDPDK starts DPDK's environment layer, which a process can do only once.
func (c *Client) StartDPDK(dpdk DPDK) (DPDKStarted, error) {
	var started DPDKStarted
	err := c.call("dpdk", dpdk, &started, nil)
	return started, err
}
