package attribution

import (
	"cmp"
	"slices"
	"strings"

	"nines.dev/nines/result"
)

// queues finds the cause for packets that waited behind others. A stall leaves a queue that
// outlasts it. Packets in that queue are victims of the stall as well: their wait while the queue
// drains counts for the stall, up to the stall's own length, because no queue can be longer than
// the stall that made it. A queue that no stall made is its own kind: full, if it dropped packets;
// behind a busy forwarder; or just a queue.
func (a *analysis) queues(slow []passage, u usual) {
	order := make([]*passage, 0, len(slow))
	for i := range slow {
		if slow[i].recorded {
			order = append(order, &slow[i])
		}
	}
	sending := window{held: func(begin, end int64) []span { return a.timeline.held(a.path.sender, begin, end) }}
	slices.SortStableFunc(order, func(p, q *passage) int { return cmp.Compare(p.intended, q.intended) })
	first := 0 // of the packet's queue
	for i, p := range order {
		if i == 0 || order[i-1].tx <= p.intended {
			first = i
			continue
		}
		waited := p.phases[send].took.nobody() - u[send][result.Cause{}]
		if waited <= 0 {
			continue
		}
		moments := make([]int64, 0, i-first)
		for _, q := range order[first:i] {
			moments = append(moments, q.tx)
		}
		took := sending.from(order[first].intended, p.tx)
		if cause, ok := a.queueCause(took, 0, waited, p.intended, p.tx, moments, false); ok {
			p.phases[send].took.assign(cause, waited)
		}
	}
	travelling := window{held: func(begin, end int64) []span { return a.timeline.onTheWay(a.path, begin, end, a.travel) }}
	slices.SortStableFunc(order, func(p, q *passage) int { return cmp.Compare(p.rx, q.rx) })
	for i, p := range order {
		if i == 0 || order[i-1].rx <= p.tx {
			first = i
		}
		// A packet that comes after the last drop still has the same queue before it.
		full := len(between(a.timeline.overflows, p.tx-(p.rx-p.tx), p.rx)) > 0
		if first == i && !full {
			continue
		}
		if full {
			p.forgetShort()
		}
		var waited [3]int64
		for _, n := range []int{transit, receive} {
			waited[n] = max(0, p.phases[n].took.nobody()-u[n][result.Cause{}])
		}
		if waited[transit]+waited[receive] == 0 {
			continue
		}
		start := p.tx
		moments := make([]int64, 0, i-first)
		for _, q := range order[first:i] {
			start = min(start, q.tx)
			moments = append(moments, q.rx)
		}
		took := travelling.from(start, p.rx)
		if cause, ok := a.queueCause(took, p.rx-start, waited[transit]+waited[receive], p.tx, p.rx, moments, full); ok {
			for _, n := range []int{transit, receive} {
				p.phases[n].took.assign(cause, waited[n])
			}
		}
	}
}

// manyShort: a stretch shorter than this fraction of a packet's transit is one of many, and does
// not delay the packet by itself.
const manyShort = 20

// forgetShort removes the blame from many short stretches that add up to less than half the transit
// of a packet in an overflowing queue. Such a queue lasts as long as the load, and meanwhile every
// thread that shares a CPU with the packets' threads runs now and then without making any packet
// later.
func (p *passage) forgetShort() {
	way := p.rx - p.tx
	for _, n := range []int{transit, receive} {
		took := p.phases[n].took
		for cause, held := range took {
			if cause.Kind != "" && 2*held.ns < way && held.ns*manyShort < held.times*way {
				delete(took, cause)
				took.add(result.Cause{}, held.ns, held.times)
			}
		}
	}
}

// window is what held packets up since the first packet of a queue, cached. In a long queue each
// packet's window is slightly longer than that of the packet before. A window that has grown by
// less than a sixteenth counts as the same; otherwise a queue of a thousand packets would be
// searched a thousand times.
type window struct {
	held       func(begin, end int64) []span
	begin, end int64
	took       tally
}

func (w *window) from(begin, end int64) tally {
	if w.took == nil || begin != w.begin || end < w.end || (end-w.end)*16 > w.end-w.begin {
		w.begin, w.end, w.took = begin, end, tallyOf(w.held(begin, end))
	}
	return w.took
}

// queueCause finds what a packet waited for in a queue from begin to end, where nothing else is
// blamed. took is what held packets up since the first packet of the queue, moments are when the
// packets before it left the queue, and lasted is how long the queue has lasted, if it can
// overflow.
func (a *analysis) queueCause(took tally, lasted, waited, begin, end int64, moments []int64, full bool) (result.Cause, bool) {
	var stall result.Cause
	var length int64
	for cause, held := range took {
		ns := held.ns
		// A storm of interrupts takes more time than its handlers show.
		if IsInterrupt(cause.Kind) {
			ns += held.times * interruptOverhead
		}
		if cause.Kind != "" && (ns > length || ns == length && less(cause, stall)) {
			stall, length = cause, ns
		}
	}
	// A queue that overflows lasts as long as the load, and in that time the interruptions of all
	// packets add up to more than any one of them waits. Blame a stall only if it had the CPU for
	// most of that time.
	overflow := (full || a.overflowed) && 2*took[stall].ns < lasted
	// A fifth more, because a stall takes more from a CPU than is recorded.
	if !overflow && length+length/5 >= waited {
		return stall, true
	}
	if full {
		return a.full, true
	}
	// If earlier packets left the queue all the time, it was a queue. If none left for most of the
	// time, something unrecorded held them all.
	hole, last := int64(0), begin
	for _, moment := range append(slices.Clone(moments), end) {
		if moment > last {
			hole, last = max(hole, moment-last), moment
		}
	}
	if len(moments) < 3 || hole > waited/3 {
		return result.Cause{}, false
	}
	if a.overflowed {
		return a.full, true
	}
	if busy, ok := a.busyForwarder(begin, end); ok {
		cause := result.Cause{Kind: Forwarder, Name: busy.Node, CPU: busy.CPU}
		if busy.Role == result.RoleService {
			cause.Source = busy.Name
		}
		return cause, true
	}
	return result.Cause{Kind: Queue, CPU: a.full.CPU}, true
}

// fullQueue returns the cause for packets that wait in a full queue: the queue that dropped most,
// according to the counters.
func fullQueue(details result.Details, receiver int32) (full result.Cause, overflowed bool) {
	full = result.Cause{Kind: RingFull, CPU: -1}
	for _, t := range details.Trace.Threads {
		if int32(t.TID) == receiver {
			full.CPU = t.CPU
		}
	}
	var most uint64
	for _, c := range details.Drops {
		where, reason, found := strings.Cut(c.Name, " ")
		if !found || c.Count <= most || !isFull(reason) {
			continue
		}
		most, full.Name = c.Count, where
		node, _, _ := strings.Cut(where, ":")
		for _, t := range details.Trace.Threads {
			if t.Role == result.RoleForwarder && t.Node == node {
				full.CPU = t.CPU
			}
		}
	}
	return full, most > 0
}

// isFull reports whether a drop counter belongs to a full queue.
func isFull(reason string) bool {
	return strings.HasSuffix(reason, "full") || strings.HasSuffix(reason, "overflow") || strings.HasSuffix(reason, "missed")
}

// busyForwarder finds a thread between the ends that sleeps when it has no work and did not sleep.
func (a *analysis) busyForwarder(begin, end int64) (result.TracedThread, bool) {
	for _, tid := range a.path.between {
		traced, of := a.timeline.traced[tid], a.timeline.threads[tid]
		if traced.Spins || traced.Role == result.RolePoller || of == nil {
			continue // a thread that polls is always busy
		}
		var ran int64
		for _, run := range of.runs.within(begin, end) {
			ran += min(run.EndNs, end) - max(run.BeginNs, begin)
		}
		if ran*10 >= (end-begin)*9 {
			return traced, true
		}
	}
	return result.TracedThread{}, false
}
