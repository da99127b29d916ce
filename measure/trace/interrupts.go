package trace

import "nines.dev/nines/result"

// Interrupts, vectors and softirqs are one record, made at their end (bpf/irq.h). Those that
// have none yet are told of by the CPU's state.

// spanKind is enum span of bpf/record.h: what a kindSpan is of.
type spanKind uint8

const (
	spanIRQ spanKind = iota
	spanSoftirq
	spanVector
	spanKinds
)

// entry is the kind of the record of its begin, where that has one.
func (s spanKind) entry() kind { return kindIRQEntry + 2*kind(s) }

// span is what a kindSpan is of, number that interrupt, vector or softirq, and begin when
// it began.
func (r record) span() spanKind { return spanKind(r.flags &^ flagPolled) }
func (r record) number() uint64 { return r.a & (1<<32 - 1) }
func (r record) begin() int64   { return r.ns - int64(r.a>>32) }

// tellsOf is true for the record, from after a stretch, of what began in it or before.
func (r record) tellsOf(s span) bool { return r.kind == kindSpan && r.begin() < s.end }

// underWay are the begins of the interrupt, vector and softirq that the CPU is in the
// middle of, which have no record yet.
func (r ring) underWay() []record {
	var begun []record
	for s := range spanKinds {
		at := stateSpans + 16*int(s)
		since, number := r.word(at).Load(), r.word(at+8).Load()
		if since > 0 && since == r.word(at).Load() { // else the number may be of the next
			begun = append(begun, record{ns: int64(since), kind: s.entry(), a: number})
		}
	}
	return begun
}

// unended are the entries of what was under way when the piece was taken, and has no end in
// the records either.
func (p piece) unended() []record {
	type begin struct {
		kind kind
		ns   int64
	}
	told := make(map[begin]bool)
	if len(p.begun) > 0 {
		for _, r := range p.records {
			if r.kind == kindSpan {
				told[begin{r.span().entry(), r.begin()}] = true
			}
		}
	}
	var entries []record
	for _, r := range p.begun {
		if b := (begin{r.kind, r.ns}); !told[b] {
			entries, told[b] = append(entries, r), true
		}
	}
	return entries
}

// spanned is an interrupt, vector or softirq.
func (t *timeline) spanned(s spanKind, number uint64, begin int64) open {
	switch s {
	case spanIRQ:
		return open{result.EventInterrupt, number, t.names.interrupt(number), int64(number), begin}
	case spanVector:
		return open{result.EventInterrupt, vectorKey | number, nameOf(vectors, number), 0, begin}
	default:
		return open{result.EventSoftirq, number, nameOf(softirqs, number), int64(number), begin}
	}
}

// span adds one from its begin to its end, and its last poll.
func (t *timeline) span(r record) {
	t.lastPoll(r)
	t.endTimers(r.begin())
	t.close(t.spanned(r.span(), r.number(), r.begin()), t.thread.tid, false)
}

// lastPoll adds a softirq's last, at the softirq's end: when exactly it was has no record.
func (t *timeline) lastPoll(r record) {
	if r.flags&flagPolled != 0 {
		t.poll(min(t.now, t.stretch.end), r.b, uint64(r.part))
	}
}
