package trace

import (
	"cmp"
	"math/bits"
	"slices"

	"nines.dev/nines/result"
)

// softirqs are the vectors in enum order of include/linux/interrupt.h.
var softirqs = []string{"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"}

// vectors are enum vector of bpf/record.h.
var vectors = []string{"local_timer", "reschedule", "call_function", "call_function_single", "irq_work",
	"spurious", "error", "platform", "thermal", "threshold", "deferred_error"}

// tlbReasons are enum tlb_flush_reason of include/linux/mm_types.h.
var tlbReasons = []string{"task switch", "remote shootdown", "local shootdown", "local mm shootdown", "remote send IPI", "remote wrong CPU"}

func nameOf(list []string, i uint64) string {
	if i < uint64(len(list)) {
		return list[i]
	}
	return "unknown"
}

// timeline converts the records of a CPU to events within a stretch.
type timeline struct {
	cpu     int32
	stretch span
	names   *names
	now     int64
	// thread is the running thread and since when; tid -1: unknown.
	thread struct {
		tid   int64
		begin int64
	}
	idle   *open
	nested []open
	// timers are the functions of expired timers, without their ends, ordered by begin. Each ends
	// when the next one in the same interrupt or softirq begins, or with that.
	timers []result.Event
	// works are running functions by the worker's TID: a worker may sleep in one.
	works  map[int64]open
	events []result.Event
}

// open is an event that has begun.
type open struct {
	kind  result.EventKind
	key   uint64
	name  string
	value int64
	begin int64
}

// unbegun is the begin of what was running before the first record.
const unbegun = -1 << 62

// eventsOf returns what a CPU did in a stretch, ordered by begin.
func eventsOf(p piece, names *names) []result.Event {
	// Its first remaining record may even be after its end.
	stretch := span{min(max(p.stretch.begin, p.known), p.stretch.end), p.stretch.end}
	t := &timeline{cpu: int32(p.cpu), stretch: stretch, names: names, works: map[int64]open{}}
	t.thread.tid, t.thread.begin = runningAtFirst(p), unbegun
	// By time: an interrupt may have read the clock before it took its place.
	records := slices.Concat(p.records, p.unended())
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.ns, b.ns) })
	for _, r := range records {
		t.now = r.ns
		t.step(r)
	}
	t.now = p.stretch.end
	if len(records) > 0 {
		t.now = max(t.now, records[len(records)-1].ns)
	}
	t.finish()
	sortEvents(t.events)
	return t.events
}

// runningAtFirst is the thread at the first record, which is before the stretch.
func runningAtFirst(p piece) int64 {
	for _, r := range p.records {
		if r.kind == kindSwitch {
			return int64(uint32(r.a))
		}
	}
	return p.running
}

func (t *timeline) step(r record) {
	switch r.kind {
	case kindSwitch:
		t.switchTo(int64(uint32(r.a)), int64(uint32(r.b)), leaving{r.flags&flagRunnable != 0, stateOf(r.part), int64(r.part >> 8)})
	case kindWaking, kindWakeup:
		t.instant(result.EventWakeup, t.names.thread(uint32(r.a)), int32(r.a), 0, int32(r.b))
	case kindIRQEntry, kindSoftirqEntry, kindVectorEntry:
		t.nested = append(t.nested, t.spanned(spanKind(r.kind-kindIRQEntry)/2, r.a, t.now))
	case kindIRQExit, kindSoftirqExit, kindVectorExit:
		t.received(r)
		t.leave(t.spanned(spanKind(r.kind-kindIRQExit)/2, r.a, unbegun))
	case kindTimer:
		t.timers = append(t.timers, result.Event{BeginNs: t.now, EndNs: t.now, Kind: result.EventTimer, Name: t.names.function(r.a), TID: t.tid(), Other: -1})
	case kindWorkEntry:
		t.works[t.thread.tid] = open{kind: result.EventWork, name: t.names.function(r.b), begin: r.ns}
	case kindWorkExit:
		w, ok := t.works[t.thread.tid]
		if !ok {
			w = open{kind: result.EventWork, name: t.names.function(r.b), begin: t.thread.begin}
		}
		delete(t.works, t.thread.tid)
		t.close(w, t.thread.tid, false)
	case kindIdle:
		t.turnIdle(r.a)
	case kindIPI:
		t.ipi(r.a, ipiKind(r.b, "call_function_single"))
	case kindIPIMask:
		for mask := r.a; mask != 0; mask &= mask - 1 {
			t.ipi(uint64(r.part)*64+uint64(bits.TrailingZeros64(mask)), ipiKind(r.b, "call_function"))
		}
	case kindCSD:
		t.ipi(r.a, "function:"+t.names.function(r.b))
	case kindTLBFlush:
		t.instant(result.EventTLBFlush, nameOf(tlbReasons, r.a), t.tid(), int64(r.b), -1)
	case kindPoll:
		t.poll(t.now, r.a, r.b)
	case kindDrop:
		t.instant(result.EventDrop, t.names.drop(r.a), t.tid(), 0, -1)
	case kindSpan:
		t.span(r)
	case kindStage:
		t.instant(result.EventStage, stageName(r.part, t.names.device(r.b), r.b != 0), t.tid(), int64(r.a), -1)
	}
}

func (t *timeline) poll(ns int64, device, packets uint64) {
	t.add(result.Event{BeginNs: ns, EndNs: ns, Kind: result.EventPoll, Name: t.names.device(device), TID: t.tid(), Value: int64(packets), Other: -1})
}

// vectorKey distinguishes the CPU's own vectors from device interrupts.
const vectorKey = 1 << 32

// ipiKind is the kind of an interrupt with a callback; without one it asks to reschedule.
func ipiKind(callback uint64, function string) string {
	if callback == 0 {
		return "reschedule"
	}
	return function
}

func (t *timeline) tid() int32 { return int32(t.thread.tid) }

func (t *timeline) ipi(cpu uint64, kind string) {
	t.instant(result.EventIPI, kind, t.tid(), 0, int32(cpu))
}

// instant adds an event without a length.
func (t *timeline) instant(kind result.EventKind, name string, tid int32, value int64, other int32) {
	t.add(result.Event{BeginNs: t.now, EndNs: t.now, Kind: kind, Name: name, TID: tid, Value: value, Other: other})
}

// add keeps the part of an event within the stretch.
func (t *timeline) add(e result.Event) {
	if e.EndNs < t.stretch.begin || e.BeginNs > t.stretch.end {
		return
	}
	e.CPU = t.cpu
	e.BeginNs, e.EndNs = max(e.BeginNs, t.stretch.begin), min(e.EndNs, t.stretch.end)
	t.events = append(t.events, e)
}

func (t *timeline) close(o open, tid int64, preempted bool) {
	t.add(result.Event{BeginNs: o.begin, EndNs: t.now, Kind: o.kind, Name: o.name, TID: int32(tid), Value: o.value, Other: -1, Preempted: preempted})
}

// leaving is how a thread leaves a CPU.
type leaving struct {
	runnable bool
	state    string
	priority int64
}

// stateOf is the letter that ps shows for the state of a thread that left; empty if it was
// runnable.
func stateOf(part uint16) string {
	if letter := byte(part); letter != 0 {
		return string(rune(letter))
	}
	return ""
}

// switchTo ends a thread's time and begins another's. A worker's function ends with it.
func (t *timeline) switchTo(from, to int64, how leaving) {
	if t.thread.begin < t.now {
		t.add(result.Event{BeginNs: t.thread.begin, EndNs: t.now, Kind: result.EventThread, Name: t.names.thread(uint32(from)),
			TID: int32(from), Value: how.priority, Other: -1, Preempted: how.runnable && from != 0, State: how.state})
	}
	if w, ok := t.works[from]; ok {
		t.close(w, from, how.runnable)
	}
	t.thread.tid, t.thread.begin = to, t.now
	if w, ok := t.works[to]; ok {
		w.begin = t.now
		t.works[to] = w
	}
}

// leave ends the last entered event of this kind and key. Events nested in it without an end,
// because a record was lost, end with it. Without an entry it was running before the stretch.
func (t *timeline) leave(o open) {
	for i := len(t.nested) - 1; i >= 0; i-- {
		if t.nested[i].kind != o.kind || t.nested[i].key != o.key {
			continue
		}
		t.endTimers(t.nested[i].begin)
		for j := len(t.nested) - 1; j >= i; j-- {
			t.close(t.nested[j], t.thread.tid, false)
		}
		t.nested = t.nested[:i]
		return
	}
	t.endTimers(o.begin)
	t.close(o, t.thread.tid, false)
}

// endTimers ends the timer functions that began since then, with the enclosing event that ends now:
// those of nested interrupts have ended already.
func (t *timeline) endTimers(since int64) {
	end := t.now
	for n := len(t.timers); n > 0 && t.timers[n-1].BeginNs >= since; n-- {
		e := t.timers[n-1]
		e.EndNs, end = end, e.BeginNs
		t.add(e)
		t.timers = t.timers[:n-1]
	}
}

// idleEnds is the state value for the end of idleness: PWR_EVENT_EXIT of
// include/trace/events/power.h.
const idleEnds = 1<<32 - 1

func (t *timeline) turnIdle(state uint64) {
	switch {
	case state != idleEnds:
		t.idle = &open{kind: result.EventIdle, value: int64(state), begin: t.now}
	case t.idle != nil:
		t.close(*t.idle, 0, false)
		t.idle = nil
	default:
		t.close(open{kind: result.EventIdle, value: -1, begin: unbegun}, 0, false)
	}
}

// finish cuts off unfinished events.
func (t *timeline) finish() {
	if t.thread.tid >= 0 {
		t.close(open{kind: result.EventThread, name: t.names.thread(uint32(t.thread.tid)), begin: t.thread.begin}, t.thread.tid, false)
		if w, ok := t.works[t.thread.tid]; ok {
			t.close(w, t.thread.tid, false)
		}
	}
	if t.idle != nil {
		t.close(*t.idle, 0, false)
	}
	for _, o := range slices.Backward(t.nested) {
		t.endTimers(o.begin)
		t.close(o, t.thread.tid, false)
	}
	// Their caller is not recorded, so their length is unknown.
	for _, e := range t.timers {
		t.add(e)
	}
}
