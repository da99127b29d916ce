package client

import "math"

// ProtocolVersion is the version this package speaks.
const ProtocolVersion = 2

// Hello is the engine's description of itself.
type Hello struct {
	Protocol int      `json:"protocol"`
	Version  string   `json:"version"`
	PID      int      `json:"pid"`
	Backends []string `json:"backends"`
	TSC      TSC      `json:"tsc"`
}

// TSC describes the CPU's time stamp counter.
type TSC struct {
	Hz         float64 `json:"hz"`
	HzStart    float64 `json:"hz_start"`
	HzEnd      float64 `json:"hz_end"`
	DriftPPM   float64 `json:"drift_ppm"`
	BracketNs  int64   `json:"bracket_ns"`
	MaxErrorNs int64   `json:"max_error_ns"`
	Constant   bool    `json:"constant"`
	Nonstop    bool    `json:"nonstop"`
}

// XDPFrames is the IO of an xdp port whose large bursts leave as XDP frames. Its interface must
// accept redirects, and an AF_XDP socket should receive the frames.
const XDPFrames = "xdp_frames"

// Port is the open command: an interface and what is sent through it.
type Port struct {
	Name      string `json:"port"`
	Backend   string `json:"backend"`
	Interface string `json:"interface,omitempty"`
	// Device is the device that dpdk opens (an argument of --vdev, or a PCI address), or the
	// socket of a vhost port. Server is true if vhost listens on it.
	Device string `json:"device,omitempty"`
	Server bool   `json:"server,omitempty"`
	// Map is the pinned XSKMAP that an xdp port puts its socket into, if another process has loaded
	// the interface's program.
	Map string `json:"map,omitempty"`
	// Frames is "udp" (default), the engine's own packets, or "all", for a switch.
	Frames   string `json:"frames,omitempty"`
	IO       string `json:"io,omitempty"`
	Wait     string `json:"wait,omitempty"`
	LocalMAC string `json:"local_mac,omitempty"`
	LocalIP  string `json:"local_ip,omitempty"`
	PeerMAC  string `json:"peer_mac,omitempty"`
	PeerIP   string `json:"peer_ip,omitempty"`
	// SenderIP is the source address of flow 0 of the packets that the port receives; empty: PeerIP.
	SenderIP   string `json:"sender_ip,omitempty"`
	UDPPort    int    `json:"udp_port,omitempty"`
	FrameBytes int    `json:"frame_bytes,omitempty"`
	Flows      int    `json:"flows,omitempty"`
	FlowField  string `json:"flow_field,omitempty"`
	// Fault sets the faults of the backend "fault".
	Fault *Fault `json:"fault,omitempty"`
}

// Fault has probabilities per packet, whose sum is at most 1.
type Fault struct {
	Drop      float64 `json:"drop"`
	Duplicate float64 `json:"duplicate"`
	Reorder   float64 `json:"reorder"`
	Corrupt   float64 `json:"corrupt"`
	Delay     float64 `json:"delay"`
	DelayNs   int64   `json:"delay_ns"`
	Seed      uint64  `json:"seed"`
}

// Opened is the answer to Open.
type Opened struct {
	Port string `json:"port"`
	Mode string `json:"mode"`
	// Wait is how a thread waits for the port: "block", "spin", "busy_poll by epoll".
	Wait  string   `json:"wait"`
	Notes []string `json:"notes"`
}

// Serve is the serve command: Role is "forward" (two ports) or "reflect" (one). With as many ports again, which are those
// of the other side of a duet, one thread serves both sides, and looks at their ports in an order that is drawn each time.
type Serve struct {
	Role  string   `json:"role"`
	Ports []string `json:"ports"`
	// WorkCycles is how many cycles of the time stamp counter a packet of each side takes besides; empty: none.
	WorkCycles []int64 `json:"work_cycles,omitempty"`
	CPU        int     `json:"cpu"`
}

// Stats are counters of a serving engine.
type Stats struct {
	Ports []PortStats `json:"ports"`
	Gaps  Gaps        `json:"gaps"`
	CPU   int         `json:"cpu"`
	TID   int         `json:"tid"`
	// Scheduling is the thread's actual policy: "SCHED_FIFO 1".
	Scheduling string `json:"scheduling"`
}

// Serving is true while a thread forwards or reflects: only then the engine tells of its gaps.
func (s Stats) Serving() bool { return s.Gaps.ThresholdNs != 0 }

// PortStats are one port's counters.
type PortStats struct {
	Port      string    `json:"port"`
	RxPackets uint64    `json:"rx_packets"`
	TxPackets uint64    `json:"tx_packets"`
	Drops     []Counter `json:"drops"`
}

// Counter is a named count.
type Counter struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Gaps is a measuring thread's gap meter; Worst rows are [at, length] in ns.
type Gaps struct {
	ThresholdNs int64      `json:"threshold_ns"`
	Count       uint64     `json:"count"`
	TotalNs     int64      `json:"total_ns"`
	MaxNs       int64      `json:"max_ns"`
	Worst       [][2]int64 `json:"worst"`
	Wakes       Wakes      `json:"wakes"`
}

// Wakes is how late timers woke a thread that slept. It is no gap: an idle CPU takes a while.
type Wakes struct {
	Count   uint64 `json:"count"`
	TotalNs int64  `json:"total_ns"`
	MaxNs   int64  `json:"max_ns"`
}

// Trial is the trial command. StartNs 0 begins soon; a generator and its sink get the same time.
type Trial struct {
	Role       string   `json:"role"`
	Streams    []Stream `json:"streams"`
	CPU        int      `json:"cpu"`
	WarmupNs   int64    `json:"warmup_ns"`
	DurationNs int64    `json:"duration_ns"`
	DrainNs    int64    `json:"drain_ns"`
	StartNs    int64    `json:"start_ns,omitempty"`
	Outliers   int      `json:"outliers"`
	// Duet has the two streams share a schedule; nil for independent ones.
	Duet *Duet `json:"duet,omitempty"`
	// Sender is the counter of a sender on another machine, in the CLOCK_MONOTONIC of the sink's; nil on
	// one machine.
	Sender *Scale `json:"sender,omitempty"`
	// Ordinary is how many packets to pick at random. Notices is how many announcements of
	// these and of the slowest packets the engine's memory has room for.
	Ordinary int `json:"ordinary,omitempty"`
	Notices  int `json:"notices,omitempty"`
	// Probe marks the packets: they only look for a path, and are left out of what is read from captures.
	Probe bool `json:"probe,omitempty"`
	// RecordSent and RecordReceived are files for a record of each packet: a path, or
	// "fd:3" for one that the engine was started with. They take a single stream.
	RecordSent     string `json:"record_sent,omitempty"`
	RecordReceived string `json:"record_received,omitempty"`
	// Arrivals is the file of Arrivals, named in the same way; empty: none.
	Arrivals string `json:"arrivals,omitempty"`
}

// Duet makes the streams of a trial the sides A and B of a duet. They have the same rate, pattern, burst and seed, and
// share a schedule of twice that rate. Its bursts are pairs, of which each stream has one; Seed draws for each pair which
// is first. So packet n of A and packet n of B are of one pair. The packets of B have a mark (Arrival.SideB).
type Duet struct {
	Seed uint64 `json:"seed"`
}

// Stream is one stream of a trial: what is sent by the port Tx, by a schedule, and received by the port Rx.
// Either is empty where the role has none. Streams may share ports.
type Stream struct {
	Name    string  `json:"name,omitempty"` // the default is its number, from 1
	Tx      string  `json:"tx,omitempty"`
	Rx      string  `json:"rx,omitempty"`
	RatePPS float64 `json:"rate_pps"`
	Pattern string  `json:"pattern,omitempty"`
	Burst   int     `json:"burst,omitempty"`
	Seed    uint64  `json:"seed,omitempty"`
}

// Scale converts ticks of a machine's counter into nanoseconds: Ns at Ticks, and from there 2^56ths of
// NsPerTick for each tick.
type Scale struct {
	Ticks     uint64 `json:"ticks"`
	Ns        int64  `json:"ns"`
	NsPerTick uint64 `json:"ns_per_tick"`
}

// At is the time at some ticks.
func (s Scale) At(ticks uint64) int64 {
	return s.Ns + int64(math.Round(float64(int64(ticks-s.Ticks))*float64(s.NsPerTick)/(1<<56)))
}

// Clock is how the clocks of an engine's machine stand: its counter and CLOCK_MONOTONIC in Scale, and
// CLOCK_REALTIME at the same moment.
type Clock struct {
	Scale
	RealtimeNs int64 `json:"realtime_ns"`
	// BracketNs is how far apart the readings may be.
	BracketNs int64 `json:"bracket_ns"`
	// Synchronised is true if the kernel was told that someone keeps CLOCK_REALTIME, and MaxErrorNs how wrong
	// that may be (adjtimex(2)).
	Synchronised bool  `json:"synchronised"`
	MaxErrorNs   int64 `json:"max_error_ns"`
}

// Started is sent when the measuring thread is about to begin.
type Started struct {
	StartNs int64 `json:"start_ns"`
	// NowNs is when this was sent, by the engine's CLOCK_MONOTONIC.
	NowNs int64 `json:"now_ns"`
	// TID is the thread's ID in the engine's PID namespace.
	TID int `json:"tid"`
	// Notices is where the engine announces packets; nil if it does not.
	Notices *Notices `json:"notices"`
}

// Notices is a ring in the engine's memory, for process_vm_readv.
type Notices struct {
	Address  uint64 `json:"address"`
	Capacity int    `json:"capacity"`
}

// Progress is sent every second during a trial.
type Progress struct {
	Second   int    `json:"second"`
	Offered  uint64 `json:"offered"`
	Sent     uint64 `json:"sent"`
	Received uint64 `json:"received"`
}

// Histogram is HdrHistogram's counts for 1 ns to 60 s at 3 significant digits,
// as pairs of index and count.
type Histogram struct {
	Count  uint64     `json:"count"`
	Min    int64      `json:"min"`
	Max    int64      `json:"max"`
	Sum    float64    `json:"sum"`
	Counts [][2]int64 `json:"counts"`
}

// Blocks are the latencies of a trial in consecutive blocks of time of LengthNs, from MeasuredStartNs: for each its
// histogram, as index, count, index, count, …. The last one has what arrived in the drain as well.
type Blocks struct {
	LengthNs int64     `json:"length_ns"`
	Count    int       `json:"count"`
	Counts   [][]int64 `json:"-"`
}

// Counts are those of a stream, or of all streams of a trial.
type Counts struct {
	IntendedPackets  uint64 `json:"intended_packets"`
	TxPackets        uint64 `json:"tx_packets"`
	TxFailed         uint64 `json:"tx_failed"`
	RxPackets        uint64 `json:"rx_packets"`
	DuplicatePackets uint64 `json:"duplicate_packets"`
	ReorderedPackets uint64 `json:"reordered_packets"`
	LatePackets      uint64 `json:"late_packets"`
	WarmupRxPackets  uint64 `json:"warmup_rx_packets"`
	// EarlyPackets were received before they were sent, according to the CPUs' counters.
	EarlyPackets uint64 `json:"early_packets"`
}

func (c *Counts) add(of Counts) {
	c.IntendedPackets += of.IntendedPackets
	c.TxPackets += of.TxPackets
	c.TxFailed += of.TxFailed
	c.RxPackets += of.RxPackets
	c.DuplicatePackets += of.DuplicatePackets
	c.ReorderedPackets += of.ReorderedPackets
	c.LatePackets += of.LatePackets
	c.WarmupRxPackets += of.WarmupRxPackets
	c.EarlyPackets += of.EarlyPackets
}

// StreamResult is what became of one stream.
type StreamResult struct {
	Name string `json:"name"`
	Counts
	// Latency is empty for the only stream of a trial, whose latencies are the trial's.
	Latency Histogram `json:"latency"`
	// Missing are ids that did not come; nil where the receiver has forgotten the first, or there is none.
	Missing *Missing `json:"missing"`
}

// Missing are the ids below Next that did not come, in runs of neighbours. Next is the largest that came, and 1 more.
type Missing struct {
	Runs        uint64 `json:"runs"`
	Longest     uint64 `json:"longest"`
	LongestFrom uint64 `json:"longest_from"`
	Next        uint64 `json:"next"`
}

// TrialResult is the answer to a trial. Times in Outliers and Rate rows count from MeasuredStartNs. The counts of its
// histograms, their blocks of time, Outliers and Ordinary come as bulk data.
type TrialResult struct {
	Role        string `json:"role"`
	Interrupted bool   `json:"interrupted"`
	// StoppedNs is how long a trial's schedule ran until Finish; 0 if it ran to its end.
	StoppedNs int64 `json:"stopped_ns"`
	// Pauses are when each began, and how long it took; their time is in no other figure, but in those of arrivals.
	Pauses          [][2]int64 `json:"pauses"`
	StartNs         int64      `json:"start_ns"`
	MeasuredStartNs int64      `json:"measured_start_ns"`
	EndNs           int64      `json:"end_ns"`
	CPU             int        `json:"cpu"`
	TID             int        `json:"tid"`
	// Runs is how often the measuring thread got its CPU, RunDelayNs how long it was runnable without one
	// before (/proc/thread-self/schedstat), between the trial's start and end. Of that it waited WaitedNs
	// for other work; the rest are the switches to it.
	Runs       uint64 `json:"runs"`
	RunDelayNs int64  `json:"run_delay_ns"`
	WaitedNs   int64  `json:"waited_ns"`
	// Scheduling is the measuring thread's policy: "SCHED_OTHER, nice 0".
	Scheduling string `json:"scheduling"`

	// Streams are in the order of the command, Counts their sum, and Latency all of their latencies.
	Streams []StreamResult `json:"streams"`
	Counts  `json:"-"`
	// InvalidPackets belong to no stream: damaged ones cannot tell theirs.
	InvalidPackets uint64 `json:"invalid_packets"`

	// Seen is which way the measured packets came; nil where the engine received none.
	Seen *Seen `json:"seen"`

	Drops   []Counter `json:"drops"`
	Latency Histogram `json:"latency"`
	// LatencyBlocks are the same latencies by time.
	LatencyBlocks Blocks      `json:"latency_blocks"`
	FromTx        Histogram   `json:"from_tx"`
	SendLag       Histogram   `json:"send_lag"`
	Spacing       Histogram   `json:"spacing"`
	Outliers      [][11]int64 `json:"-"`
	// Ordinary are the packets picked at random, if requested.
	Ordinary [][11]int64 `json:"-"`
	Rate     [][4]uint64 `json:"rate"`
	Gaps     Gaps        `json:"gaps"`
	// Interruptions are those of the measuring thread; their begin counts from MeasuredStartNs.
	Interruptions Interruptions `json:"interruptions"`
	TSC           TSC           `json:"tsc"`
	Notes         []string      `json:"notes"`
	// Recordings are the requested ones.
	Recordings []Recording `json:"recordings"`
	// Arrivals are the counts of those; nil if none are kept.
	Arrivals *ArrivalCounts `json:"arrivals"`
}

// Seen is what the headers of received packets tell of their way. Others are packets beyond the 16 ways that there is
// room for.
type Seen struct {
	Ways   []Way  `json:"ways"`
	Others uint64 `json:"others"`
	// Unseen says why the headers of measured packets could not be read. Then the ways are of packets of the warm-up and of
	// probes, by what the kernel tells a socket beside them, without MAC addresses; or there are none.
	Unseen string `json:"unseen"`
}

// Way is packets with the same headers. All flows have the source port and address of flow 0.
type Way struct {
	Port            string `json:"port"` // where they arrived
	Packets         uint64 `json:"packets"`
	SourceMAC       string `json:"source_mac"`
	DestinationMAC  string `json:"destination_mac"`
	TTL             int    `json:"ttl"`
	TOS             int    `json:"tos"`
	SourceIP        string `json:"source_ip"`
	DestinationIP   string `json:"destination_ip"`
	SourcePort      int    `json:"source_port"`
	DestinationPort int    `json:"destination_port"`
	IPBytes         int    `json:"ip_bytes"`
}

// Recording says how many packets were written to a file.
type Recording struct {
	What    string `json:"what"` // "sent" or "received"
	File    string `json:"file"`
	Records uint64 `json:"records"`
	// Lost are packets without a record, because the disk was too slow, or because of Error.
	Lost  uint64 `json:"lost"`
	Error string `json:"error"`
}
