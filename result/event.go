package result

// EventsSchema names the form of events.parquet, in its metadata under the key "schema".
const EventsSchema = "nines/events/v1"

// EventKind is what happened on a CPU.
type EventKind string

// The kinds of events. The first five last: they have an end of their own, and those on
// one CPU nest (an interrupt within a softirq within a thread).
const (
	// EventThread is a thread that ran: Name is its name, TID its number, 0 the idle one,
	// and Value its real-time priority: 1 to 99, 100 of a deadline thread, 0 of others.
	EventThread EventKind = "thread"
	// EventIdle is a CPU in an idle state, whose number is Value.
	EventIdle EventKind = "idle"
	// EventInterrupt is a hardware interrupt: a device's, Name its action's and Value its
	// number, or one of the CPU's own vectors, such as "local_timer", "reschedule",
	// "call_function".
	EventInterrupt EventKind = "interrupt"
	// EventSoftirq is a softirq: Name is its vector's, such as "NET_RX".
	EventSoftirq EventKind = "softirq"
	// EventWork, EventTimer are functions of workqueues and timers: Name is the function's.
	EventWork  EventKind = "work"
	EventTimer EventKind = "timer"
	// EventPoll is a poll of a NAPI instance: Name is the device's, Value the packets.
	EventPoll EventKind = "napi_poll"
	// EventTLBFlush is a flush of the TLB: Name is its reason, Value the pages.
	EventTLBFlush EventKind = "tlb_flush"
	// EventIPI is an interrupt that this CPU sent to Other, whose kind Name tells; TID is
	// the thread that was running.
	EventIPI EventKind = "ipi_send"
	// EventWakeup is a thread (TID, Name) that was made runnable for the CPU Other.
	EventWakeup EventKind = "wakeup"
	// EventDrop is a packet that the kernel dropped: Name is the reason.
	EventDrop EventKind = "drop"
	// EventStage is the packet Value at a stage of its way, which Name tells.
	EventStage EventKind = "stage"
)

// Event is a row of events.parquet: what happened on one CPU from BeginNs to EndNs, in
// nanoseconds of CLOCK_MONOTONIC like the times of outliers.csv. They are equal for what
// has no length. An event that was not over, or not begun, when the recording of its
// stretch was, is cut there.
type Event struct {
	BeginNs int64     `parquet:"begin_ns"`
	EndNs   int64     `parquet:"end_ns"`
	CPU     int32     `parquet:"cpu"`
	Kind    EventKind `parquet:"kind,dict"`
	Name    string    `parquet:"name,dict"`
	TID     int32     `parquet:"tid"`
	Value   int64     `parquet:"value"`
	// Other is another CPU that takes part; -1 for none.
	Other int32 `parquet:"other"`
	// Preempted is true for a thread that was still runnable when it went off the CPU.
	Preempted bool `parquet:"preempted"`
	// State is what a thread that was not runnable went off the CPU for, as ps has it: S
	// asleep, D in an uninterruptible wait, T stopped by a signal, t by a debugger, I an
	// idle kernel thread, X or Z dead. It is empty for one that was preempted, or whose
	// end was not recorded.
	State string `parquet:"state,dict"`
}

// Trace says how a trial was recorded; nil in the details of one that was not.
type Trace struct {
	// Threads are those that handle the trial's packets.
	Threads []TracedThread `json:"threads"`
	// Events is how many records the kernel's programs wrote, Kept how many events.parquet has,
	// and Lost how many were overwritten, or not taken, within a stretch that was to be
	// kept.
	Events uint64 `json:"events"`
	Kept   uint64 `json:"kept"`
	Lost   uint64 `json:"lost"`
	// Stretches are the times of which all events are kept, in order: [begin, end].
	Stretches [][2]int64 `json:"stretches"`
	// Slowest is of how many of the slowest packets the events were to be kept; 0: of all
	// that outliers.csv has.
	Slowest int `json:"slowest,omitempty"`
	// ThresholdNs is the latency above which packets were kept, at the end.
	ThresholdNs int64 `json:"threshold_ns"`
	// CostNs is the CPU time of the recorder's programs, all CPUs together; nil where the
	// kernel does not count it (kernel.bpf_stats_enabled).
	CostNs *int64 `json:"cost_ns"`
	// ElapsedNs is how long was recorded, with a trial's warm-up and drain; 0: not known.
	ElapsedNs int64 `json:"elapsed_ns,omitempty"`
	// BufferBytes is the memory for the latest events, of each CPU.
	BufferBytes int64 `json:"buffer_bytes"`
	// Missing are kinds of events that this kernel has no tracepoint for, and why.
	Missing []string `json:"missing,omitempty"`
	// StagesEvery is of how many packets one is in Stages; 0: none is.
	StagesEvery int `json:"stages_every,omitempty"`
	// Stages are the delays between the stages of a packet's way.
	Stages []StageDelay `json:"stages,omitempty"`
}

// NotRecorded are the notes of causes.json on what is Missing.
func (t *Trace) NotRecorded() []string {
	var notes []string
	for _, kind := range t.Missing {
		notes = append(notes, "not recorded: "+kind)
	}
	return notes
}

// The roles of traced threads.
const (
	RoleSender    = "sender"
	RoleReceiver  = "receiver"
	RoleForwarder = "forwarder"
	RoleProgram   = "program"
	RolePoller    = "poller"
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

// StageDelay is how long packets took from one stage of their way to the next.
type StageDelay struct {
	From   string      `json:"from"`
	To     string      `json:"to"`
	Device string      `json:"device,omitempty"`
	Delay  Percentiles `json:"delay_ns"`
}

// CausesSchema names the form of causes.json.
const CausesSchema = "nines/causes/v1"

// Causes is trials/NNNN/causes.json: why packets were late.
type Causes struct {
	Schema string `json:"schema"`
	// Ranking is the trial's causes, the one that accounts for most of the slowest first.
	Ranking []RankedCause `json:"ranking"`
	// Slowest is of how many of the slowest packets the ranking is: of those whose events
	// were to be kept. Further packets may lie around them, and are not counted: they would
	// give a cause that delays many at once more weight than it has. Recorded is of how many
	// of them the events were kept.
	Slowest  int `json:"slowest"`
	Recorded int `json:"recorded"`
	// Packets are all of outliers.csv, in its order.
	Packets []PacketCauses `json:"packets"`
	// Ordinary is how many ordinary packets there are to compare with.
	Ordinary int `json:"ordinary"`
	// Notes are what a reader should know, such as events that were lost.
	Notes []string `json:"notes,omitempty"`
}

// RankedCause is a cause over all packets.
type RankedCause struct {
	Cause Cause `json:"cause"`
	// Packets is of how many of the slowest it is the first cause, Present in how many it
	// has a part at all, TotalNs what it took of all of them.
	Packets int   `json:"packets"`
	Present int   `json:"present"`
	TotalNs int64 `json:"total_ns"`
	// Lift is how many times likelier it is around a slow packet than around an ordinary
	// one; nil where it is around none of those.
	Lift *float64 `json:"lift"`
	// Sentence tells it in words, and Remedy what to do; empty where nothing helps.
	Sentence string `json:"sentence"`
	Remedy   string `json:"remedy,omitempty"`
}

// Cause is something that kept a packet waiting. Equal ones are one cause.
type Cause struct {
	// Kind is one of the attribution's kinds: docs/explain.md lists them.
	Kind string `json:"kind"`
	// Name is the interrupt's, softirq's, thread's; empty where the kind says it all.
	Name string `json:"name,omitempty"`
	// Source is what brought it about where that is known: the sender of an interrupt.
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
	// Recorded is false where events around the packet were not kept, or were lost: then
	// its parts are not explained, and it does not count in the ranking.
	Recorded bool          `json:"recorded"`
	Phases   []PhaseCauses `json:"phases"`
}

// PhaseCauses are those of a part of the latency. What the causes do not account for is
// UnexplainedNs; OrdinaryNs is what the part takes anyway, as the median ordinary packet
// shows.
type PhaseCauses struct {
	Phase         string       `json:"phase"`
	BeginNs       int64        `json:"begin_ns"`
	EndNs         int64        `json:"end_ns"`
	Causes        []CauseShare `json:"causes"`
	OrdinaryNs    int64        `json:"ordinary_ns"`
	UnexplainedNs int64        `json:"unexplained_ns"`
}

// CauseShare is what a cause took of a part.
type CauseShare struct {
	Cause Cause `json:"cause"`
	Ns    int64 `json:"ns"`
}
