package client

// Switch is the switch command: it starts switching between attached ports.
type Switch struct {
	CPUs     []int `json:"cpus"`
	AgeingNs int64 `json:"ageing_ns"` // 0: never
	MACs     int   `json:"macs,omitempty"`
}

// SwitchPort is the attach command: it attaches an open port to the switch.
type SwitchPort struct {
	Port         string   `json:"port"`
	VLAN         int      `json:"vlan,omitempty"`
	Trunk        []int    `json:"trunk,omitempty"`
	MACs         []string `json:"macs,omitempty"`
	FloodPPS     float64  `json:"flood_pps,omitempty"`
	BroadcastPPS float64  `json:"broadcast_pps,omitempty"`
	// Impair is what happens to packets that the port receives; nil: nothing.
	Impair *Impairment `json:"impair,omitempty"`
}

// Impairment is what a switch does to the packets that a port receives. Shares are 0 to 1.
type Impairment struct {
	DelayNs      int64   `json:"delay_ns"`
	JitterNs     int64   `json:"jitter_ns"`
	Distribution string  `json:"distribution,omitempty"` // "uniform", "normal", "pareto"
	Loss         float64 `json:"loss"`
	Duplicate    float64 `json:"duplicate"`
	Reorder      float64 `json:"reorder"`
	Corrupt      float64 `json:"corrupt"`
	RateBPS      int64   `json:"rate_bps"` // 0: no limit
	Seed         int64   `json:"seed"`
	Limit        int     `json:"limit,omitempty"` // packets that wait at most; 0: the default
}

// ImpairStats are what an impairment has done. Given packets and copies have left;
// Packets - Lost - Refused + Duplicated - Given wait.
type ImpairStats struct {
	Packets    uint64 `json:"packets"`
	Lost       uint64 `json:"lost"`
	Corrupted  uint64 `json:"corrupted"`
	Reordered  uint64 `json:"reordered"`
	Duplicated uint64 `json:"duplicated"`
	Refused    uint64 `json:"refused"`
	Given      uint64 `json:"given"`
	// Late is how much later than due packets left: the error of the delay.
	Late Histogram `json:"late"`
}

// SwitchStats are all counters of a switch.
type SwitchStats struct {
	Ports   []SwitchPortStats `json:"ports"`
	Threads []SwitchThread    `json:"threads"`
	MACs    int               `json:"macs"`
}

// SwitchPortStats are a port's counters: RxPackets = Forwarded + Flooded + the sum of Drops, where
// the port is not impaired.
type SwitchPortStats struct {
	Port      string       `json:"port"`
	Backend   string       `json:"backend"`
	State     string       `json:"state"` // "up", "waiting" for its peer, "failed: why"
	VLAN      int          `json:"vlan,omitempty"`
	Trunk     []int        `json:"trunk,omitempty"`
	RxPackets uint64       `json:"rx_packets"`
	RxBytes   uint64       `json:"rx_bytes"`
	TxPackets uint64       `json:"tx_packets"`
	TxBytes   uint64       `json:"tx_bytes"`
	Forwarded uint64       `json:"forwarded"`
	Flooded   uint64       `json:"flooded"`
	Drops     []Counter    `json:"drops"`
	Queues    []QueueStats `json:"queues"`
	// TxLost are packets for this port, including flooded copies, that it did not take.
	// DeviceDrops are packets that the backend dropped in either direction, by reason.
	TxLost      uint64    `json:"tx_lost"`
	DeviceDrops []Counter `json:"device_drops"`
	// RxBursts and TxBursts are turns that had packets.
	RxBursts uint64 `json:"rx_bursts"`
	TxBursts uint64 `json:"tx_bursts"`
	// MACsRefused are packets whose source was not learned, for lack of room.
	MACsRefused uint64       `json:"macs_refused"`
	Mirror      *MirrorStats `json:"mirror,omitempty"`
	Impair      *ImpairStats `json:"impair,omitempty"`
	// Cut is true for a port that passes nothing.
	Cut bool `json:"cut,omitempty"`
}

// MirrorStats are a mirror's counters. Dropped packets are not in the file, because it was too
// slow, or because of Error, after which nothing more is written.
type MirrorStats struct {
	File    string `json:"file,omitempty"`
	ID      int64  `json:"id,omitempty"`
	Packets uint64 `json:"packets"`
	Dropped uint64 `json:"dropped"`
	Error   string `json:"error,omitempty"`
}

// QueueStats are a queue's counters; a port's are their sum.
type QueueStats struct {
	RxPackets uint64 `json:"rx_packets"`
	TxPackets uint64 `json:"tx_packets"`
}

// SwitchThread is one polling thread.
type SwitchThread struct {
	CPU  int  `json:"cpu"`
	TID  int  `json:"tid"`
	Gaps Gaps `json:"gaps"`
}

// MAC is an entry of the switch's table; AgeNs is -1 for a static one.
type MAC struct {
	MAC   string `json:"mac"`
	VLAN  int    `json:"vlan"`
	Port  string `json:"port"`
	AgeNs int64  `json:"age_ns"`
}

// Mirror is the mirror command: it copies a port's packets to a file. Direction is
// "rx", "tx" or "both".
type Mirror struct {
	Port      string `json:"port"`
	Direction string `json:"direction,omitempty"`
	File      string `json:"file"`
	Bytes     int    `json:"snap_bytes,omitempty"` // 0: whole packets
}

// StartSwitch starts switching; ports are attached later.
func (c *Client) StartSwitch(s Switch) error { return c.call("switch", s, nil, nil) }

// Attach attaches an open port to the switch.
func (c *Client) Attach(p SwitchPort) error { return c.call("attach", p, nil, nil) }

// Cut has a port pass nothing, or pass packets again. It returns when that was, in nanoseconds of
// CLOCK_MONOTONIC.
func (c *Client) Cut(port string, cut bool) (atNs int64, err error) {
	var done struct {
		AtNs int64 `json:"at_ns"`
	}
	err = c.call("cut", map[string]any{"port": port, "cut": cut}, &done, nil)
	return done.AtNs, err
}

// Detach detaches a port from the switch; the port stays open.
func (c *Client) Detach(port string) error {
	return c.call("detach", map[string]string{"port": port}, nil, nil)
}

// SwitchStats reads the switch's counters.
func (c *Client) SwitchStats() (SwitchStats, error) {
	var stats SwitchStats
	err := c.call("switch_stats", nil, &stats, nil)
	return stats, err
}

// MACs lists the switch's table.
func (c *Client) MACs() ([]MAC, error) {
	var reply struct {
		MACs []MAC `json:"macs"`
	}
	err := c.call("macs", nil, &reply, nil)
	return reply.MACs, err
}

// Mirror starts a port's only mirror, into a file that no other mirror writes to, and returns its
// id.
func (c *Client) Mirror(m Mirror) (id int64, err error) {
	var begun MirrorStats
	err = c.call("mirror", m, &begun, nil)
	return begun.ID, err
}

// EndMirror ends a port's mirror and returns its counters; id 0 is any mirror that it has. A file
// that could not be written completely is an error.
func (c *Client) EndMirror(port string, id int64) (MirrorStats, error) {
	var ended MirrorStats
	err := c.call("mirror", map[string]any{"port": port, "file": "", "id": id}, &ended, nil)
	return ended, err
}
