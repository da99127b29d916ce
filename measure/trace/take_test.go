package trace

import (
	"encoding/binary"
	"testing"
)

// written is a ring of size records after a CPU has written count of them, one every stepNs.
func written(size, count uint64, stepNs int64, each func(i uint64, r *record)) ring {
	r := ring{cpu: 1, state: make([]byte, stateBytes), records: make([]byte, size*recordBytes)}
	for i := range count {
		one := record{place: i, ns: int64(i) * stepNs, kind: kindSoftirqEntry, a: i}
		if each != nil {
			each(i, &one)
		}
		copy(r.records[i%size*recordBytes:], encode(one))
	}
	binary.LittleEndian.PutUint64(r.state, count)
	return r
}

func TestAStretchIsTaken(t *testing.T) {
	const size, count, step = 4096, 100_000, 1000
	r := written(size, count, step, func(i uint64, r *record) {
		if i%50 == 0 {
			r.kind, r.a, r.b = kindSwitch, i-50, i
		}
	})
	s := span{97_500 * step, 98_500 * step}
	p := r.take(s, new([]record))
	if p.lost != 0 {
		t.Errorf("%d lost", p.lost)
	}
	if first := p.records[0].ns; first > s.begin-slackNs {
		t.Errorf("the first record is at %d: nothing tells what went before %d", first, s.begin)
	}
	last := p.records[len(p.records)-1]
	if last.kind != kindSwitch || last.ns <= s.end || last.ns > s.end+slackNs+50*step {
		t.Errorf("the last record is %+v, not the switch after the stretch", last)
	}
	for i := range p.records[1:] {
		if p.records[i+1].place != p.records[i].place+1 {
			t.Fatalf("record %d is missing", p.records[i].place+1)
		}
	}
	if p.running != 97_500 {
		t.Errorf("thread %d ran at the begin", p.running)
	}
}

// A span around a stretch may end only many records later.
func TestASpanAroundAStretchIsTaken(t *testing.T) {
	const end = 3000
	r := written(4096, 4000, 1000, func(i uint64, r *record) {
		r.kind = kindTLBFlush
		if i == end {
			*r = record{place: i, ns: r.ns, kind: kindSpan, flags: uint8(spanSoftirq), a: 2_500_000<<32 | 3}
		}
	})
	binary.LittleEndian.PutUint64(r.state[stateSpans+16*int(spanVector):], 3_999_000)
	s := span{1_000_000, 1_010_000}
	p := r.take(s, new([]record))
	if last := p.records[len(p.records)-1]; last.place != end || len(p.records) > 2*context+100 {
		t.Errorf("%d records, the last is %+v", len(p.records), last)
	}
	if last := p.cut(span{1_001_000, 1_002_000}).records; last[len(last)-1].place != end {
		t.Errorf("cut to %+v", last[len(last)-1])
	}
	if len(p.begun) != 1 || p.begun[0].kind != kindVectorEntry || p.begun[0].ns != 3_999_000 {
		t.Errorf("%+v has begun", p.begun)
	}
}

func TestWhatWasOverwrittenIsCounted(t *testing.T) {
	const size, count, step = 4096, 100_000, 1000
	r := written(size, count, step, nil)
	// The first 968 or so of 2000 records are gone: 4096 minus a guard of 64 are there.
	oldest := int64(count - (size - guard))
	begin, end := (oldest-968)*step, (oldest+1032)*int64(step)
	p := r.take(span{begin, end}, new([]record))
	if p.lost < 940 || p.lost > 1000 {
		t.Errorf("%d records are said to be lost, of 968", p.lost)
	}
	// The unknown time is not part of the piece.
	if p.known < oldest*step || p.known > (oldest+10)*step || p.running != -1 {
		t.Errorf("it is known from %d on, with thread %d, of records from %d on", p.known, p.running, oldest*step)
	}
	for _, e := range eventsOf(p, &names{}) {
		if e.BeginNs < oldest*step {
			t.Errorf("an event from %d on: %+v", e.BeginNs, e)
		}
	}
	for _, one := range p.records {
		if one.ns < oldest*step {
			t.Errorf("record %d was overwritten", one.place)
		}
	}
	if gone := r.take(span{0, 10 * step}, new([]record)); gone.lost < 10 || len(gone.records) > 2*context {
		t.Errorf("of a stretch that is gone %d are lost, %d are there", gone.lost, len(gone.records))
	}
}

// The running thread is known even if it has run since long before the ring begins.
func TestAThreadThatRunsAllTheTime(t *testing.T) {
	r := written(4096, 100_000, 1000, nil)
	if p := r.take(span{99_000_000, 99_100_000}, new([]record)); p.running != -1 {
		t.Errorf("thread %d was made up", p.running)
	}
	binary.LittleEndian.PutUint32(r.state[stateThread:], 77)
	binary.LittleEndian.PutUint64(r.state[stateSince:], 5)
	if p := r.take(span{99_000_000, 99_100_000}, new([]record)); p.running != 77 {
		t.Errorf("thread %d, not 77", p.running)
	}
	// It came after the stretch: which thread it replaced is unknown.
	binary.LittleEndian.PutUint64(r.state[stateSince:], 99_050_000)
	if p := r.take(span{99_000_000, 99_100_000}, new([]record)); p.running != -1 {
		t.Errorf("thread %d came later", p.running)
	}
}

func TestAnEmptyRing(t *testing.T) {
	if p := written(4096, 0, 1, nil).take(span{0, 1000}, new([]record)); len(p.records) != 0 || p.lost != 0 {
		t.Errorf("%+v", p)
	}
}

// A record being written does not hide those before it.
func TestARecordThatIsBeingWritten(t *testing.T) {
	const size, count, step = 4096, 10_000, 1000
	for _, place := range []uint64{count - 1, count - 2, count - 2000, count - 500} {
		r := written(size, count, step, nil)
		binary.LittleEndian.PutUint32(r.records[place%size*recordBytes+8:], 0)
		p := r.take(span{(count - 600) * step, (count - 400) * step}, new([]record))
		if len(p.records) < 200 || p.records[0].ns > (count-600)*step {
			t.Errorf("with record %d unfinished %d records are found", place, len(p.records))
		}
		within := place == count-500
		if p.lost > 0 != within {
			t.Errorf("with record %d unfinished %d are lost", place, p.lost)
		}
	}
}
