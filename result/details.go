package result

import (
	"fmt"
	"time"
)

// The roles of trials of 'nines trace jitter' and 'nines trace record', whose packets are stretches in which a CPU or a
// program's thread did not run.
const (
	JitterRole  = "jitter"
	ProgramRole = "program"
)

// CaptureRole is that of a pair of captures: nines sent none of its packets.
const CaptureRole = "capture"

// OfStretches reports whether a trial's packets are such stretches.
func (d *Details) OfStretches() bool {
	return d != nil && (d.Role == JitterRole || d.Role == ProgramRole)
}

// OfTraffic reports whether nines sent a trial's packets, at a rate or as fast as it could.
func (d *Details) OfTraffic() bool {
	return d == nil || !d.OfStretches() && d.Role != CaptureRole
}

// Details is trials/NNNN/details.json: the basis of a trial's verdict and the data that the page
// draws, in addition to the summary. All times are nanoseconds of CLOCK_MONOTONIC.
type Details struct {
	Role        string  `json:"role"` // "loop", "generate+sink", "scripts", CaptureRole, JitterRole or ProgramRole
	IntendedPPS float64 `json:"intended_pps"`
	// IntendedPackets is the number of packets in the schedule; 0: unknown.
	IntendedPackets uint64 `json:"intended_packets,omitempty"`
	// ReceivedPPS is that of the trial.
	ReceivedPPS float64 `json:"received_pps"`
	// FrameBytes is the frame size including FCS; 0: unknown.
	FrameBytes int `json:"frame_bytes,omitempty"`
	// Maximum is the maximum that IntendedPPS is a fraction of, if it was given as one.
	Maximum *Share `json:"maximum,omitempty"`
	// InvalidPackets carried no payload of this trial, or a damaged one.
	InvalidPackets uint64 `json:"invalid_packets"`
	// EarlyPackets were received before they were sent, by the clocks of two CPUs.
	EarlyPackets uint64 `json:"early_packets"`
	DurationNs   int64  `json:"duration_ns"`
	// ElapsedNs is the trial's total time, with warm-up and drain; 0: unknown.
	ElapsedNs int64 `json:"elapsed_ns,omitempty"`
	StartedNs int64 `json:"started_ns"`
	// StartedUnixNs is the same moment in nanoseconds since 1970, UTC; 0: unknown.
	StartedUnixNs int64 `json:"started_unix_ns,omitempty"`
	// Baseline is set for a back-to-back run of the generator without a network.
	Baseline string `json:"baseline,omitempty"` // "", "before" or "after"

	TSC TSC `json:"tsc"`
	// Clocks is set where the sender and the receiver had a clock each; nil: one clock.
	Clocks *Clocks `json:"clocks,omitempty"`

	// PollGapFrom says where the poll gaps of the trial's packets begin; "" as in PollGapNs.
	PollGapFrom string `json:"poll_gap_from,omitempty"`

	Gaps []GapMeter `json:"gaps"`
	// Turns are the kinds of turns of the loops on the packets' way, by which they tell interruptions.
	Turns []Turns   `json:"turns,omitempty"`
	Drops []Counter `json:"drops,omitempty"`
	// Spacing is the achieved inter-departure time.
	Spacing Percentiles `json:"spacing_ns"`
	// StealNs is CPU time that the hypervisor took from the measuring CPUs.
	StealNs int64 `json:"steal_ns"`
	// RunDelayNs is how long measuring threads were runnable but waiting.
	RunDelayNs int64 `json:"run_delay_ns"`
	// Runs is how often they got a CPU; 0: unknown. Each time a part of RunDelayNs passes, also where
	// nothing else wants the CPU. WaitedNs is the rest, in which the CPU ran something else.
	Runs     uint64 `json:"runs,omitempty"`
	WaitedNs int64  `json:"waited_ns,omitempty"`
	// ThrottledNs is how long cgroups were throttled by their CPU quota.
	ThrottledNs int64 `json:"throttled_ns"`
	// Recording is set if every packet was to be recorded.
	Recording *Recording `json:"recording,omitempty"`
	// Programs are the delays of programs between links' endpoints, such as switches.
	Programs []ProgramDelay `json:"programs,omitempty"`
	// Isolation is what kept everything else off the nodes' CPUs; nil: not recorded.
	Isolation *Isolation `json:"isolation,omitempty"`
	// Images are the images that nodes were made of.
	Images []NodeImage `json:"images,omitempty"`
	// Tuning is the host settings that were changed; nil: none was requested.
	Tuning *Tuning `json:"tuning,omitempty"`
	// Disturbances are the deliberate ones, and what they did.
	Disturbances []Disturbance `json:"disturbances,omitempty"`
	// Impairments are what was done to packets of links deliberately: not the network's doing.
	Impairments []Impairment `json:"impairments,omitempty"`
	// Events are what happened to the lab deliberately.
	Events []Occurrence `json:"events,omitempty"`
	// Receive is how interfaces received if not only by interrupts.
	Receive []Receive `json:"receive,omitempty"`
	// Trace says how the trial was traced; nil: it was not.
	Trace *Trace `json:"trace,omitempty"`
	// Notes are the engines' notes on their ports and themselves: modes that a backend got, memory
	// that could not be locked.
	Notes []string `json:"notes,omitempty"`
	// Devices are the network's devices and their settings, because those change what is measured.
	Devices []Device `json:"devices,omitempty"`
}

// PollGapFromLook is the PollGapFrom of trials whose poll gaps begin where the previous look began.
const PollGapFromLook = "look_begin"

// NodeImage is the image that a node was made of.
type NodeImage struct {
	Node string `json:"node"`
	// Image is as in the experiment file, and Digest says which image that was ("sha256:…").
	Image  string `json:"image"`
	Digest string `json:"digest"`
}

// Recording says how much of a trial packets.parquet holds. Packets missing there still count in
// the trial's counts and histograms.
type Recording struct {
	// Packets is the number of rows.
	Packets uint64 `json:"packets"`
	// Complete is true if every sent packet has a row, and every received one a receive time.
	Complete bool `json:"complete"`
	// SentLost and ReceivedLost are packets whose record could not be written.
	SentLost     uint64 `json:"sent_lost"`
	ReceivedLost uint64 `json:"received_lost"`
	// Problems say why it is incomplete, or why there are no metrics.
	Problems []string `json:"problems,omitempty"`
}

// Disturbance is a deliberate disturbance while the trial sent packets.
type Disturbance struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Of is the target: "CPU 1", "the engine of dut".
	Of string `json:"of"`
	// Injections is their number, LengthNs their total length, LongestNs the longest.
	Injections int   `json:"injections"`
	LengthNs   int64 `json:"length_ns"`
	LongestNs  int64 `json:"longest_ns"`
	// BusyNs is the CPU time that they took; 0: unknown.
	BusyNs int64 `json:"busy_ns,omitempty"`
	// Events is the number of forks, packets, interrupts, flushes or timers.
	Events uint64 `json:"events"`
}

// Impairment is what was done deliberately to the packets that an endpoint of a link sent.
type Impairment struct {
	Link string `json:"link"`
	// From is the endpoint, By what did it: "switch", "hop" (a switch between the ends), "netem".
	From string `json:"from"`
	By   string `json:"by"`
	// What is it in words: "delay 1ms ± 100us (normal), loss 0.001".
	What string `json:"what"`
	// Seed decides the fates of packets; -1: the kernel drew them.
	Seed int64 `json:"seed"`
	// Holds is how long it holds a packet of the stream; nil where the stream does not pass.
	Holds *Hold `json:"holds,omitempty"`
	// Done counts what happened in the trial, all packets of the link included; nil: unknown.
	Done *ImpairmentCounts `json:"done,omitempty"`
}

// Hold is the shortest and the longest time that something holds a packet.
type Hold struct {
	LeastNs int64 `json:"least_ns"`
	MostNs  int64 `json:"most_ns"`
}

// ImpairmentCounts are packets. First is the number of the first one of the trial: the seed gives
// each packet its fate by its number.
type ImpairmentCounts struct {
	First      uint64 `json:"first"`
	Packets    uint64 `json:"packets"`
	Lost       uint64 `json:"lost"`
	Corrupted  uint64 `json:"corrupted"`
	Reordered  uint64 `json:"reordered"`
	Duplicated uint64 `json:"duplicated"`
	// Refused found as many packets waiting as the limit allows.
	Refused uint64 `json:"refused"`
	// Waiting packets and copies had not left at the trial's end.
	Waiting uint64 `json:"waiting"`
}

// Occurrence is an event of the experiment file that happened to the lab. Times are since the trial's traffic began, with
// its warm-up.
type Occurrence struct {
	// What is "down", where the link passed nothing, or "restart" of the node.
	What string `json:"what"`
	Link string `json:"link,omitempty"`
	Node string `json:"node,omitempty"`
	// AtNs and LengthNs are what the file asks for, BeganNs and EndedNs when it was done.
	AtNs     int64 `json:"at_ns"`
	LengthNs int64 `json:"length_ns"`
	BeganNs  int64 `json:"began_ns"`
	EndedNs  int64 `json:"ended_ns"`
	// Problem says why it did not happen, or not all of it.
	Problem string `json:"problem,omitempty"`
}

// String is the event in one line, without when it was done: "in  down at 5s for 200ms".
func (o Occurrence) String() string {
	if o.Node != "" {
		return fmt.Sprintf("%s  %s at %v", o.Node, o.What, time.Duration(o.AtNs))
	}
	return fmt.Sprintf("%s  %s at %v for %v", o.Link, o.What, time.Duration(o.AtNs), time.Duration(o.LengthNs))
}

// Share is a rate as a fraction of a measured maximum.
type Share struct {
	// ID is that of the trial that found the maximum, a folder below maxima/.
	ID string `json:"id"`
	// ReceivedPPS is the maximum: the rate received at rate 0.
	ReceivedPPS float64 `json:"received_pps"`
	Fraction    float64 `json:"fraction"`
}

// ProgramDelay is how long the polling threads of a link's program were runnable but waiting.
type ProgramDelay struct {
	Link       string `json:"link"`
	Kind       string `json:"kind"` // of the link
	RunDelayNs int64  `json:"run_delay_ns"`
}

// Device is one device of the network under test.
type Device struct {
	Node   string            `json:"node,omitempty"` // empty: between the nodes
	Link   string            `json:"link"`
	Device string            `json:"device"`
	Values map[string]string `json:"values"` // "gro": "off"
}

// TSC is the clock calibration at both ends of a trial.
type TSC struct {
	HzStart    float64 `json:"hz_start"`
	HzEnd      float64 `json:"hz_end"`
	DriftPPM   float64 `json:"drift_ppm"`
	BracketNs  int64   `json:"bracket_ns"` // width of the best bracketed read
	Constant   bool    `json:"constant"`
	Nonstop    bool    `json:"nonstop"`
	MaxErrorNs int64   `json:"max_error_ns"`
}

// Clocks are two machines' CLOCK_REALTIME, kept in step by PTP or NTP, by which latencies of one way were
// taken.
type Clocks struct {
	// ErrorNs is how wrong each latency may be: what both kernels say of their clocks (adjtimex), what
	// reading them leaves open, and DriftNs, by which they moved apart in the trial.
	ErrorNs int64 `json:"error_ns"`
	DriftNs int64 `json:"drift_ns"`
	// Lost says which clock was no longer kept at the end; empty if both were.
	Lost string `json:"lost,omitempty"`
	// Untold is the node of whose clock no error is known, which is then missing in ErrorNs; empty if
	// there is none.
	Untold string `json:"untold,omitempty"`
}

// GapMeter is the time taken from a measuring thread as it saw it: passes of the loop longer than
// ThresholdNs.
type GapMeter struct {
	Thread string `json:"thread"` // "loop", "generate", "sink", "forward dut"
	CPU    int    `json:"cpu"`
	// Scheduling is the thread's policy, "SCHED_OTHER, nice 0"; empty: unknown.
	Scheduling  string `json:"scheduling,omitempty"`
	ThresholdNs int64  `json:"threshold_ns"`
	Count       uint64 `json:"count"`
	TotalNs     int64  `json:"total_ns"`
	MaxNs       int64  `json:"max_ns"`
	Worst       []Gap  `json:"worst"`
	// Wakes is how late timers woke the thread; nil if it never slept. It is no gap.
	Wakes *Wakes `json:"wakes,omitempty"`
}

// Turns are those turns of a thread's loop that handle about as many packets.
type Turns struct {
	Thread string `json:"thread"` // as in GapMeter
	Kind   string `json:"kind"`   // "turn 2-3 sent": with 2 or 3 packets, of which it sent some
	// UsualNs is what one takes that nothing interrupts, ThresholdNs from when on it is an interruption; nil: unknown.
	UsualNs     int64  `json:"usual_ns"`
	ThresholdNs *int64 `json:"threshold_ns,omitempty"`
	// SpentNs is the time of those that were not interrupted. Of these, Unlisted took longer than twice as usual, by
	// UnlistedNs together, and did not make up for an interruption before them.
	SpentNs    int64  `json:"spent_ns"`
	Unlisted   uint64 `json:"unlisted"`
	UnlistedNs int64  `json:"unlisted_ns"`
	// UnlistedLengths are the lengths of these, the shortest first.
	UnlistedLengths []UnlistedLength `json:"unlisted_lengths,omitempty"`
}

// UnlistedLength are turns that took longer than usual, each by less than EachBelowNs, and TotalNs together.
type UnlistedLength struct {
	EachBelowNs int64 `json:"each_below_ns"`
	TotalNs     int64 `json:"total_ns"`
}

// Wakes is how late timers woke a thread that slept: the time that an idle CPU takes, if nothing
// else had it.
type Wakes struct {
	Count   uint64 `json:"count"`
	TotalNs int64  `json:"total_ns"`
	MaxNs   int64  `json:"max_ns"`
}

// Gap is one stretch without the CPU.
type Gap struct {
	AtNs     int64 `json:"at_ns"` // since the trial's start
	LengthNs int64 `json:"length_ns"`
}

// Counter is a named count, such as a drop by its reason.
type Counter struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Outlier is a row of outliers.csv, with the JSON keys as columns: one of the slowest packets.
type Outlier struct {
	ID         uint32 `json:"id"`
	Stream     uint16 `json:"stream"` // from 1; 0: of the warm-up
	LatencyNs  int64  `json:"latency_ns"`
	FromTxNs   int64  `json:"from_tx_ns"`
	SendLagNs  int64  `json:"send_lag_ns"`
	IntendedNs int64  `json:"intended_ns"` // since the trial's start
	TxNs       int64  `json:"tx_ns"`
	RxNs       int64  `json:"rx_ns"`
	// PollGapNs is the time since the receiver's previous look began, without sleeps: the packet
	// may have arrived that much earlier. In details without PollGapFrom it is the time since that
	// look ended, so a stall within the look is not in it.
	PollGapNs int64  `json:"poll_gap_ns"`
	TxCPU     int    `json:"tx_cpu"` // -1: unknown
	RxCPU     int    `json:"rx_cpu"`
	Cause     string `json:"cause,omitempty"`
}

// Rate is a row of rate.csv: one second of a trial.
type Rate struct {
	Second   int    `json:"second" csv:"second"`
	Offered  uint64 `json:"offered" csv:"offered_packets"` // intended
	Sent     uint64 `json:"sent" csv:"sent_packets"`
	Received uint64 `json:"received" csv:"received_packets"`
}
