package result

// EventsSchema names the format of events.parquet, in its metadata under the key "schema".
const EventsSchema = "nines/events/v1"

// EventKind is what happened on a CPU.
type EventKind string

// The kinds of events. The first five have a length, and those on one CPU nest (an interrupt within
// a softirq within a thread).
const (
	// EventThread is a running thread: Name is its name, TID its number, 0 for idle, and Value its
	// real-time priority: 1 to 99, 100 for a deadline thread, 0 for others.
	EventThread EventKind = "thread"
	// EventIdle is a CPU in an idle state, with the state's number as Value.
	EventIdle EventKind = "idle"
	// EventInterrupt is a hardware interrupt: from a device, with its action as Name and its number
	// as Value, or one of the CPU's own vectors, such as "local_timer", "reschedule",
	// "call_function".
	EventInterrupt EventKind = "interrupt"
	// EventSoftirq is a softirq: Name is its vector's name, such as "NET_RX".
	EventSoftirq EventKind = "softirq"
	// EventWork, EventTimer are functions of workqueues and timers: Name is the function's.
	EventWork  EventKind = "work"
	EventTimer EventKind = "timer"
	// EventPoll is a poll of a NAPI instance: Name is the device, Value the number of packets.
	EventPoll EventKind = "napi_poll"
	// EventForeign is what a softirq received of others, at its end: packets that are not the
	// engines'. Name is the device of the last one, Value their number.
	EventForeign EventKind = "foreign_packets"
	// EventTLBFlush is a flush of the TLB: Name is its reason, Value the number of pages.
	EventTLBFlush EventKind = "tlb_flush"
	// EventIPI is an interrupt that this CPU sent to Other: Name is its kind, TID the thread that
	// was running.
	EventIPI EventKind = "ipi_send"
	// EventWakeup is a thread (TID, Name) that was made runnable for the CPU Other.
	EventWakeup EventKind = "wakeup"
	// EventDrop is a packet that the kernel dropped: Name is the reason.
	EventDrop EventKind = "drop"
	// EventStage is a packet, Value, at a stage of its path, Name.
	EventStage EventKind = "stage"
)

// Event is a row of events.parquet: what happened on one CPU from BeginNs to EndNs, in nanoseconds
// of CLOCK_MONOTONIC like the times of outliers.csv. They are equal for an event without a length.
// An event is cut off at the ends of its recorded stretch.
type Event struct {
	BeginNs int64     `parquet:"begin_ns"`
	EndNs   int64     `parquet:"end_ns"`
	CPU     int32     `parquet:"cpu"`
	Kind    EventKind `parquet:"kind,dict"`
	Name    string    `parquet:"name,dict"`
	TID     int32     `parquet:"tid"`
	Value   int64     `parquet:"value"`
	// Other is another CPU involved; -1 for none.
	Other int32 `parquet:"other"`
	// Preempted is true for a thread that was still runnable when it left the CPU.
	Preempted bool `parquet:"preempted"`
	// State is the state in which a thread that was not runnable left the CPU, as ps shows it: S
	// asleep, D in an uninterruptible wait, T stopped by a signal, t by a debugger, I an idle
	// kernel thread, X or Z dead. It is empty for a preempted thread, or if the end was not
	// recorded.
	State string `parquet:"state,dict"`
}

// Trace says how a trial was traced; nil in the details of an untraced one.
type Trace struct {
	// Threads are those that handle the trial's packets.
	Threads []TracedThread `json:"threads"`
	// Events is the number of records that the kernel's programs wrote, Kept the number of rows in
	// events.parquet, and Lost the number overwritten, or not taken, within a stretch to keep.
	Events uint64 `json:"events"`
	Kept   uint64 `json:"kept"`
	Lost   uint64 `json:"lost"`
	// Stretches are the times for which all events are kept, in order: [begin, end].
	Stretches [][2]int64 `json:"stretches"`
	// Losses are where events of a stretch were lost, by CPU.
	Losses []Loss `json:"losses,omitempty"`
	// Slowest is the number of slowest packets whose events were to be kept; 0: all in
	// outliers.csv.
	Slowest int `json:"slowest,omitempty"`
	// ThresholdNs is the latency above which packets were kept, at the end.
	ThresholdNs int64 `json:"threshold_ns"`
	// CostNs is the CPU time of the recorder's programs on all CPUs; nil if the kernel does not
	// count it (kernel.bpf_stats_enabled).
	CostNs *int64 `json:"cost_ns"`
	// ElapsedNs is the recorded time, with a trial's warm-up and drain; 0: unknown.
	ElapsedNs int64 `json:"elapsed_ns,omitempty"`
	// BufferBytes is the memory for the latest events, per CPU.
	BufferBytes int64 `json:"buffer_bytes"`
	// Missing are kinds of events without a tracepoint in this kernel, and why.
	Missing []string `json:"missing,omitempty"`
	// StagesEvery is N if one packet in N is in Stages; 0: none is.
	StagesEvery int `json:"stages_every,omitempty"`
	// Stages are the delays between the stages of a packet's path.
	Stages []StageDelay `json:"stages,omitempty"`
	// GuestNotes are what a reader of the stages in virtual machines has to know, such as why there are none.
	GuestNotes []string `json:"guest_notes,omitempty"`
	// Bystanders are other threads that ran on the recorded CPUs, the longest first; those that could still be found when
	// the trial had ended.
	Bystanders []Bystander `json:"bystanders,omitempty"`
}

// Bystander is a thread that handles none of the trial's packets.
type Bystander struct {
	Name string `json:"name"`
	TID  int    `json:"tid"`
	PID  int    `json:"pid"`
	// Command is the begin of its process's command line, without options.
	Command string `json:"command"`
	// Lab is the lab in whose node it runs; empty if it is in none.
	Lab string `json:"lab,omitempty"`
	// RanNs is how long it ran within the recorded stretches.
	RanNs int64 `json:"ran_ns"`
}

// Loss is a time within a stretch for which a CPU's events were overwritten before nines took them.
type Loss struct {
	CPU     int   `json:"cpu"`
	BeginNs int64 `json:"begin_ns"`
	EndNs   int64 `json:"end_ns"`
	// Events is an estimate of their number, from how many there were afterwards; Mostly is the
	// commonest kind of those, as in events.parquet, or empty.
	Events uint64    `json:"events"`
	Mostly EventKind `json:"mostly,omitempty"`
}

// NotRecorded returns notes for causes.json on what is Missing, and on guests.
func (t *Trace) NotRecorded() []string {
	var notes []string
	for _, kind := range t.Missing {
		notes = append(notes, "not recorded: "+kind)
	}
	return append(notes, t.GuestNotes...)
}

// The roles of traced threads.
const (
	RoleSender    = "sender"
	RoleReceiver  = "receiver"
	RoleForwarder = "forwarder"
	RoleProgram   = "program"
	RolePoller    = "poller"
	// RoleService is a thread of a program of the user's that was seen with the packets.
	RoleService = "service"
)

// TracedThread is a thread that handles the packets of a trial.
type TracedThread struct {
	Role string `json:"role"`
	Node string `json:"node,omitempty"`
	Link string `json:"link,omitempty"`
	Name string `json:"name"`
	PID  int    `json:"pid"`
	TID  int    `json:"tid"`
	CPU  int    `json:"cpu"` // -1: not pinned
	// Spins is true for a thread that never sleeps.
	Spins bool `json:"spins"`
}

// StageDelay is the time that packets took between two stages of their path.
type StageDelay struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Device string `json:"device,omitempty"`
	// Guest is the node in whose kernel they are, by its own clock, if it is a virtual machine; empty: the host's kernel.
	Guest string      `json:"guest,omitempty"`
	Delay Percentiles `json:"delay_ns"`
}

// CausesSchema names the format of causes.json.
const CausesSchema = "nines/causes/v1"

// Causes is trials/NNNN/causes.json: why packets were late.
type Causes struct {
	Schema string `json:"schema"`
	// Ranking is the trial's causes; the one that accounts for most of the slowest comes first.
	Ranking []RankedCause `json:"ranking"`
	// Slowest is the number of slowest packets in the ranking: those whose events were to be kept.
	// Other packets near them do not count: they would give a cause that delays many at once too
	// much weight. Recorded is how many of them have kept events.
	Slowest  int `json:"slowest"`
	Recorded int `json:"recorded"`
	// Packets are those of outliers.csv, in its order.
	Packets []PacketCauses `json:"packets"`
	// Ordinary is the number of ordinary packets for comparison.
	Ordinary int `json:"ordinary"`
	// Notes tell the reader about lost events, for example.
	Notes []string `json:"notes,omitempty"`
}

// RankedCause is a cause over all packets.
type RankedCause struct {
	Cause Cause `json:"cause"`
	// Packets is the number of the slowest with it as the first cause, Present the number with any
	// part of it, TotalNs what it took of all of them.
	Packets int   `json:"packets"`
	Present int   `json:"present"`
	TotalNs int64 `json:"total_ns"`
	// Lift is how many times likelier it is around a slow packet than around an ordinary one; nil
	// if it is around none of the ordinary ones.
	Lift *float64 `json:"lift"`
	// Sentence describes it, and Remedy what to do; empty if nothing helps.
	Sentence string `json:"sentence"`
	Remedy   string `json:"remedy,omitempty"`
}

// Cause is something that kept a packet waiting. Equal values are one cause.
type Cause struct {
	// Kind is a kind of package attribution: docs/explain.md lists them.
	Kind string `json:"kind"`
	// Name is the interrupt's, softirq's or thread's; empty if the kind is enough.
	Name string `json:"name,omitempty"`
	// Source is the originator if known: the sender of an interrupt.
	Source string `json:"source,omitempty"`
	CPU    int    `json:"cpu"` // -1: none
}

// The parts of a packet's latency.
const (
	PhaseSend    = "send wait"
	PhaseTransit = "transit"
	PhaseReceive = "receive wait"
)

// PacketCauses are the causes of one packet's latency.
type PacketCauses struct {
	ID        uint32 `json:"id"`
	LatencyNs int64  `json:"latency_ns"`
	// Recorded is false if events around the packet were not kept, or were lost: then its parts are
	// not explained, and it does not count in the ranking.
	Recorded bool `json:"recorded"`
	// Lost is what was lost of the packet's events; nil if that is not known to be much.
	Lost   *Loss         `json:"lost,omitempty"`
	Phases []PhaseCauses `json:"phases"`
}

// PhaseCauses are the causes of a part of the latency. UnexplainedNs is the rest; OrdinaryNs is
// what the part takes for the median ordinary packet.
type PhaseCauses struct {
	Phase         string       `json:"phase"`
	BeginNs       int64        `json:"begin_ns"`
	EndNs         int64        `json:"end_ns"`
	Causes        []CauseShare `json:"causes"`
	OrdinaryNs    int64        `json:"ordinary_ns"`
	UnexplainedNs int64        `json:"unexplained_ns"`
}

// CauseShare is the time that a cause took of a part.
type CauseShare struct {
	Cause Cause `json:"cause"`
	Ns    int64 `json:"ns"`
}
