package trace

import "nines.dev/nines/result"

// piece is what a CPU did in a stretch of time: its records, plus some from before and after that
// show what was running at its edges.
type piece struct {
	cpu     int
	stretch span
	records []record
	// begun are the begins of spans that had no record yet when the stretch was taken.
	begun []record
	// running is the thread that ran when the stretch began; -1: unknown.
	running int64
	// known is when the records begin, if earlier ones were overwritten; else 0.
	known int64
	// lost is the number of records of the stretch that had been overwritten, or were being
	// written; an estimate if the first of them are lost.
	lost uint64
}

// span is a time range, in ns.
type span struct{ begin, end int64 }

const (
	// slackNs is how far times may be out of order: the length of an interrupt.
	slackNs = 20_000
	// context is the number of records around a stretch that are searched for its initial state.
	context = 256
)

// take copies a stretch from a ring. It works in scratch, which it may replace by a larger one:
// most of what it examines is not kept.
func (r ring) take(s span, scratch *[]record) piece {
	// Running spans are read first: those that have ended by then are below the head.
	p := piece{cpu: r.cpu, stretch: s, running: -1, begun: r.underWay(), records: (*scratch)[:0]}
	head := r.head()
	oldest := r.oldest(head)
	first := r.find(oldest, head, s.begin-slackNs)
	last := r.find(first, head, s.end+slackNs)
	if first == oldest && oldest > 0 {
		p.lost = r.overwritten(oldest, head, s)
	}
	from := first - min(first-oldest, context)
	before := 0 // number of records before the stretch
	for place := from; place < last; place++ {
		p.add(r, place, place >= first)
		if place < first {
			before = len(p.records)
		}
	}
	p.running = r.runningAt(s.begin, p.records, last, head)
	for place := last; place < head && !p.settled(place-last); place++ {
		if !p.addAfter(r, place, place < last+context) {
			break
		}
	}
	// Records overwritten during the copy hold newer ones, which decode rejects.
	*scratch = p.records
	p.records = append([]record(nil), p.records[lead(p.records, before):]...)
	if known := p.firstNs(); p.lost > 0 && known > s.begin {
		// The time before is unknown, so nothing is reported.
		p.known, p.running = known, -1
	}
	return p
}

// firstNs is the time of the first record, or the end of the stretch if there is none.
func (p piece) firstNs() int64 {
	if len(p.records) == 0 {
		return p.stretch.end
	}
	return p.records[0].ns
}

// hole is the beginning of the stretch that was overwritten; empty if all is known.
func (p piece) hole() span {
	return span{p.stretch.begin, max(p.stretch.begin, min(p.known, p.stretch.end))}
}

// commonest is the kind of event that most of the records are of; empty if there are none.
func (p piece) commonest() result.EventKind {
	counts := make(map[result.EventKind]int)
	var most result.EventKind
	for _, r := range p.records {
		kind := r.event()
		counts[kind]++
		if counts[kind] > counts[most] || counts[kind] == counts[most] && kind < most {
			most = kind
		}
	}
	return most
}

// lead is the record from which a stretch's initial state follows, given its own first record: the
// last thread switch before it, because no interrupt is running during a switch. It is the same for
// each CPU and packet; keeping more would soon be most of the memory.
func lead(records []record, first int) int {
	least := max(0, first-context)
	for i := first - 1; i > least; i-- {
		if records[i].kind == kindSwitch {
			return i
		}
	}
	return least
}

func (p *piece) add(r ring, place uint64, within bool) {
	record, ok := r.at(place)
	switch {
	case ok:
		p.records = append(p.records, record)
	case within:
		p.lost++
	}
}

// longestSoftirqNs is the time after which a softirq must be over: softirqs yield to threads after
// 2 ms or 10 rounds (kernel/softirq.c).
const longestSoftirqNs = 50_000_000

// addAfter adds a record from after the stretch: beyond the usual context, only one of a softirq
// that was running. False if there can be none.
func (p *piece) addAfter(r ring, place uint64, near bool) bool {
	record, ok := r.at(place)
	if ok && !near && record.ns > p.stretch.end+longestSoftirqNs {
		return false
	}
	if ok && (near || record.kind == kindSwitch || record.kind == kindSpan && record.span() == spanSoftirq) {
		p.records = append(p.records, record)
	}
	return true
}

// settled reports whether the last record is a thread switch after the stretch: no interrupt can have
// been running then. After more records than an interrupt can contain, the end of any softirq is
// enough.
func (p *piece) settled(after uint64) bool {
	if len(p.records) == 0 {
		return false
	}
	last := p.records[len(p.records)-1]
	switch {
	case last.ns <= p.stretch.end:
		return false
	case last.kind == kindSwitch:
		return last.flags&flagInSoftirq == 0
	}
	return after > context && last.kind == kindSpan && last.span() == spanSoftirq
}

// runningAt is the thread at a time: the last one switched to before, or the next one to leave.
func (r ring) runningAt(ns int64, around []record, next, head uint64) int64 {
	running := int64(-1)
	for _, record := range around {
		if record.kind != kindSwitch {
			continue
		}
		if record.ns > ns {
			if running < 0 {
				running = int64(uint32(record.a))
			}
			return running
		}
		running = int64(uint32(record.b))
	}
	if running >= 0 {
		return running
	}
	if tid, since := r.running(); since > 0 && since <= ns {
		return int64(tid)
	}
	for place := next; place < head; place++ {
		if record, ok := r.at(place); ok && record.kind == kindSwitch && record.ns > ns {
			return int64(uint32(record.a))
		}
	}
	return -1
}

// overwritten estimates how many records of a stretch are gone, from the CPU's rate of records
// afterwards.
func (r ring) overwritten(oldest, head uint64, s span) uint64 {
	first, ok := r.at(oldest)
	last, found := r.at(head - 1)
	if !ok || !found || first.ns <= s.begin || last.ns <= first.ns {
		return 0
	}
	gone := min(first.ns, s.end) - s.begin
	return uint64(float64(head-oldest)*float64(gone)/float64(last.ns-first.ns)) + 1
}
