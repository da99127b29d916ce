package trace

import "nines.dev/nines/result"

// Interrupts, vectors and softirqs are one record, made at their end (bpf/irq.h). For those still
// running, the CPU's state has the begin.

// spanKind is enum span of bpf/record.h: the kind of a kindSpan record.
type spanKind uint8

const (
	spanIRQ spanKind = iota
	spanSoftirq
	spanVector
	spanKinds
)

// entry is the kind of record for its begin, if that has one.
func (s spanKind) entry() kind { return kindIRQEntry + 2*kind(s) }

// span returns the kind of a kindSpan; number is that interrupt, vector or softirq, and begin its
// begin.
func (r record) span() spanKind { return spanKind(r.flags &^ (flagPolled | flagForeign)) }
func (r record) number() uint64 { return r.a & (1<<32 - 1) }
func (r record) begin() int64   { return r.ns - int64(r.a>>32) }

// tellsOf reports whether the record, from after a stretch, is of a span that began in it or before.
func (r record) tellsOf(s span) bool { return r.kind == kindSpan && r.begin() < s.end }

// underWay returns the begins of the interrupt, vector and softirq that the CPU is currently in,
// which have no record yet.
func (r ring) underWay() []record {
	var begun []record
	for s := range spanKinds {
		at := stateSpans + 16*int(s)
		since, number := r.word(at).Load(), r.word(at+8).Load()
		if since > 0 && since == r.word(at).Load() { // otherwise the number may belong to the next
			begun = append(begun, record{ns: int64(since), kind: s.entry(), a: number})
		}
	}
	return begun
}

// unended returns the entries of spans that were running when the piece was taken, and have no end
// in the records.
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

// spanned opens an interrupt, vector or softirq.
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

// span adds a span from begin to end, and what it received.
func (t *timeline) span(r record) {
	t.received(r)
	t.endTimers(r.begin())
	t.close(t.spanned(r.span(), r.number(), r.begin()), t.thread.tid, false)
}

// received adds what a softirq received, at the softirq's end: the packets of others or, if there were
// none, its last poll. Their exact times are not recorded.
func (t *timeline) received(r record) {
	at := min(t.now, t.stretch.end)
	switch {
	case r.flags&flagForeign != 0:
		t.add(result.Event{BeginNs: at, EndNs: at, Kind: result.EventForeign, Name: t.names.device(r.b), TID: t.tid(), Value: int64(r.part), Other: -1})
	case r.flags&flagPolled != 0:
		t.poll(at, r.b, uint64(r.part))
	}
}
