package trace

import (
	"encoding/binary"
	"testing"

	"nines.dev/nines/result"
)

// encode writes a record as a program does.
func encode(r record) []byte {
	raw := make([]byte, recordBytes)
	binary.LittleEndian.PutUint64(raw, uint64(r.ns))
	binary.LittleEndian.PutUint32(raw[8:], uint32(r.place)+1)
	raw[12], raw[13] = byte(r.kind), r.flags
	binary.LittleEndian.PutUint16(raw[14:], r.part)
	binary.LittleEndian.PutUint64(raw[16:], r.a)
	binary.LittleEndian.PutUint64(raw[24:], r.b)
	return raw
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	for _, want := range []record{
		{place: 0, ns: 1, kind: kindSwitch, flags: 1, part: 0x3253, a: 7, b: 8},
		{place: 1<<32 - 2, ns: 1 << 60, kind: kindStage, a: 1<<64 - 1, b: 1<<64 - 2},
	} {
		if got, ok := decode(encode(want), want.place); !ok || got != want {
			t.Errorf("%+v, %v; want %+v", got, ok, want)
		}
	}
	r := record{place: 5, ns: 1, kind: kindSwitch}
	if _, ok := decode(encode(r), 5+1024); ok {
		t.Error("a record of an earlier turn of the ring was taken for a later one")
	}
	if _, ok := decode(encode(record{place: 5, ns: 1, kind: kindSpan, flags: uint8(spanKinds)}), 5); ok {
		t.Error("a span of nothing was taken")
	}
	for _, kind := range []kind{0, kinds, 255} {
		r.kind = kind
		if _, ok := decode(encode(r), 5); ok {
			t.Errorf("kind %d was taken", kind)
		}
	}
	if _, ok := decode(encode(r)[:31], 5); ok {
		t.Error("half a record was taken")
	}
}

// For any ring contents, events lie in their stretch and have a length.
func FuzzEvents(f *testing.F) {
	f.Add(append(encode(record{place: 0, ns: 100, kind: kindSwitch, a: 7, b: 8}), encode(record{place: 1, ns: 150, kind: kindSoftirqEntry, a: 3})...), int64(120), int64(160), int64(140))
	f.Add(append(encode(record{place: 0, ns: 100, kind: kindWorkEntry, a: 7, b: 8}), encode(record{place: 1, ns: 10, kind: kindWorkExit, a: 7})...), int64(0), int64(1), int64(0))
	f.Add(encode(record{place: 0, ns: 500, kind: kindSpan, flags: uint8(spanSoftirq) | flagPolled, part: 3, a: 450<<32 | 3, b: 7}), int64(0), int64(100), int64(0))
	f.Add(encode(record{place: 0, ns: 5, kind: kindIPIMask, part: 65535, a: 1<<64 - 1}), int64(0), int64(10), int64(20))
	f.Fuzz(func(t *testing.T, raw []byte, begin, end, known int64) {
		p := piece{stretch: span{begin, max(begin, end)}, running: -1, known: known}
		for place := uint64(0); len(raw) >= recordBytes; place++ {
			if r, ok := decode(raw[:recordBytes], place); ok {
				if place%3 == 0 {
					r.place = 0
				}
				p.records = append(p.records, r)
			}
			raw = raw[recordBytes:]
		}
		for _, e := range eventsOf(p, &names{threads: map[uint32]string{}}) {
			if e.BeginNs < p.stretch.begin || e.EndNs > p.stretch.end || e.EndNs < e.BeginNs {
				t.Errorf("%+v is not in %+v", e, p.stretch)
			}
			if e.Kind == "" {
				t.Errorf("%+v has no kind", e)
			}
		}
	})
}

// events makes the events of a CPU from records in the given order.
func events(s span, running int64, records ...record) []result.Event {
	for i := range records {
		records[i].place = uint64(i)
	}
	return eventsOf(piece{cpu: 1, stretch: s, running: running, records: records}, &names{
		threads:   map[uint32]string{7: "engine", 9: "kworker/1:2"},
		functions: symbols{{0x1000, "tick_nohz_handler"}, {0x2000, "vmstat_update"}, {0x3000, "flush_tlb_func"}},
		devices:   map[uint64]string{5: "dut:in"},
	})
}

// brief is the part of an event that tests compare.
type brief struct {
	begin, end int64
	kind       result.EventKind
	name       string
	tid        int32
}

func hold(t *testing.T, got []result.Event, want ...brief) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(got), len(want), got)
	}
	for i, e := range got {
		if b := (brief{e.BeginNs, e.EndNs, e.Kind, e.Name, e.TID}); b != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, b, want[i])
		}
		if e.CPU != 1 {
			t.Errorf("event %d is on CPU %d", i, e.CPU)
		}
	}
}

// spanned is the record of a span from begin to end.
func spanned(begin, end int64, s spanKind, number uint64) record {
	return record{ns: end, kind: kindSpan, flags: uint8(s), a: uint64(end-begin)<<32 | number}
}

// A span record gives the same events as its entry and exit would, at any place.
func TestSpansAreWhatTheirEdgesWouldBe(t *testing.T) {
	polled := spanned(160, 300, spanSoftirq, 3)
	polled.flags, polled.part, polled.b = polled.flags|flagPolled, 12, 5
	hold(t, events(span{50, 1000}, 7,
		spanned(10, 60, spanIRQ, 4), // begun before the stretch
		spanned(200, 250, spanVector, 0), polled,
		spanned(900, 1200, spanSoftirq, 1)), // ends after it
		brief{50, 1000, result.EventThread, "engine", 7},
		brief{50, 60, result.EventInterrupt, "irq 4", 7},
		brief{160, 300, result.EventSoftirq, "NET_RX", 7},
		brief{200, 250, result.EventInterrupt, "local_timer", 7},
		brief{300, 300, result.EventPoll, "dut:in", 7},
		brief{900, 1000, result.EventSoftirq, "TIMER", 7})
}

// A span that is unended when a stretch is taken is reported once, at its end if that was recorded.
func TestWhatIsUnderWayIsTold(t *testing.T) {
	p := piece{cpu: 1, stretch: span{0, 1000}, running: 7, begun: []record{
		{ns: 100, kind: kindSoftirqEntry, a: 3}, {ns: 100, kind: kindSoftirqEntry, a: 3}, {ns: 500, kind: kindVectorEntry, a: 0}}}
	n := &names{threads: map[uint32]string{7: "engine"}}
	softirq, vector := brief{100, 1000, result.EventSoftirq, "NET_RX", 7}, brief{500, 1000, result.EventInterrupt, "local_timer", 7}
	hold(t, eventsOf(p, n), brief{0, 1000, result.EventThread, "engine", 7}, softirq, vector)
	p.records = []record{spanned(500, 600, spanVector, 0)}
	vector.end = 600
	hold(t, eventsOf(p, n), brief{0, 1000, result.EventThread, "engine", 7}, softirq, vector)
}

func TestWhatLiesInOneAnother(t *testing.T) {
	hold(t, events(span{0, 1000}, 7,
		record{ns: 100, kind: kindVectorEntry, a: 0},
		record{ns: 110, kind: kindTimer, a: 0x1000},
		record{ns: 160, kind: kindVectorExit, a: 0},
		record{ns: 160, kind: kindSoftirqEntry, a: 3},
		record{ns: 170, kind: kindIRQEntry, a: 24},
		record{ns: 180, kind: kindIRQExit, a: 24},
		record{ns: 300, kind: kindSoftirqExit, a: 3}),
		brief{0, 1000, result.EventThread, "engine", 7},
		brief{100, 160, result.EventInterrupt, "local_timer", 7},
		brief{110, 160, result.EventTimer, "tick_nohz_handler", 7},
		brief{160, 300, result.EventSoftirq, "NET_RX", 7},
		brief{170, 180, result.EventInterrupt, "irq 24", 7})
}

// A timer function ends when the next one of the same interrupt begins, or with the interrupt; one
// without a recorded caller has no length.
func TestTimersEndWithWhatCallsThem(t *testing.T) {
	hold(t, events(span{0, 1000}, 7,
		record{ns: 20, kind: kindTimer, a: 0x1000},
		record{ns: 110, kind: kindTimer, a: 0x2000},
		record{ns: 210, kind: kindTimer, a: 0x1000},
		record{ns: 230, kind: kindTimer, a: 0x3000},
		spanned(200, 250, spanVector, 0),
		record{ns: 260, kind: kindTimer, a: 0x3000},
		spanned(100, 300, spanSoftirq, 1),
		record{ns: 500, kind: kindSwitch, a: 7, b: 9},
		record{ns: 900, kind: kindVectorEntry, a: 0},
		record{ns: 910, kind: kindTimer, a: 0x1000}),
		brief{0, 500, result.EventThread, "engine", 7},
		brief{20, 20, result.EventTimer, "tick_nohz_handler", 7},
		brief{100, 300, result.EventSoftirq, "TIMER", 7},
		brief{110, 260, result.EventTimer, "vmstat_update", 7},
		brief{200, 250, result.EventInterrupt, "local_timer", 7},
		brief{210, 230, result.EventTimer, "tick_nohz_handler", 7},
		brief{230, 250, result.EventTimer, "flush_tlb_func", 7},
		brief{260, 300, result.EventTimer, "flush_tlb_func", 7},
		brief{500, 1000, result.EventThread, "kworker/1:2", 9},
		brief{900, 1000, result.EventInterrupt, "local_timer", 9},
		brief{910, 1000, result.EventTimer, "tick_nohz_handler", 9})
}

func TestWhatWasUnderWayIsCutAtTheEnds(t *testing.T) {
	hold(t, events(span{100, 200}, 7,
		record{ns: 50, kind: kindSwitch, a: 9, b: 7},
		record{ns: 120, kind: kindSoftirqExit, a: 1}, // its entry was before the records
		record{ns: 180, kind: kindVectorEntry, a: 1},
		record{ns: 240, kind: kindVectorExit, a: 1},
		record{ns: 250, kind: kindSwitch, a: 7, b: 0}),
		brief{100, 200, result.EventThread, "engine", 7},
		brief{100, 120, result.EventSoftirq, "TIMER", 7},
		brief{180, 200, result.EventInterrupt, "reschedule", 7})
}

// A lost end record does not leave a span open for ever.
func TestALostEnd(t *testing.T) {
	hold(t, events(span{0, 1000}, 7,
		record{ns: 100, kind: kindSoftirqEntry, a: 3},
		record{ns: 110, kind: kindIRQEntry, a: 24},
		record{ns: 300, kind: kindSoftirqExit, a: 3},
		record{ns: 500, kind: kindSwitch, a: 7, b: 9}),
		brief{0, 500, result.EventThread, "engine", 7},
		brief{100, 300, result.EventSoftirq, "NET_RX", 7},
		brief{110, 300, result.EventInterrupt, "irq 24", 7},
		brief{500, 1000, result.EventThread, "kworker/1:2", 9})
}

// A workqueue function may sleep: it takes the time for which its worker has the CPU.
func TestWorkGoesWithItsWorker(t *testing.T) {
	hold(t, events(span{0, 1000}, 0,
		record{ns: 100, kind: kindSwitch, a: 0, b: 9},
		record{ns: 110, kind: kindWorkEntry, a: 0xaaa, b: 0x2000},
		record{ns: 200, kind: kindSwitch, a: 9, b: 7},
		record{ns: 400, kind: kindSwitch, a: 7, b: 9},
		record{ns: 450, kind: kindWorkExit, a: 0xaaa, b: 0x2000},
		record{ns: 500, kind: kindSwitch, a: 9, b: 0}),
		brief{0, 100, result.EventThread, "idle", 0},
		brief{100, 200, result.EventThread, "kworker/1:2", 9},
		brief{110, 200, result.EventWork, "vmstat_update", 9},
		brief{200, 400, result.EventThread, "engine", 7},
		brief{400, 500, result.EventThread, "kworker/1:2", 9},
		brief{400, 450, result.EventWork, "vmstat_update", 9},
		brief{500, 1000, result.EventThread, "idle", 0})
}

func TestWhatHasNoLength(t *testing.T) {
	got := events(span{0, 1000}, 7,
		record{ns: 10, kind: kindIPI, a: 3, b: 0},
		record{ns: 20, kind: kindIPIMask, part: 1, a: 0b101, b: 0x3000},
		record{ns: 30, kind: kindCSD, a: 2, b: 0x3000},
		record{ns: 40, kind: kindTLBFlush, a: 1, b: 33},
		record{ns: 50, kind: kindWaking, a: 9, b: 1},
		record{ns: 60, kind: kindPoll, a: 5, b: 12},
		record{ns: 70, kind: kindStage, part: 3, a: 4711, b: 5})
	hold(t, got,
		brief{0, 1000, result.EventThread, "engine", 7},
		brief{10, 10, result.EventIPI, "reschedule", 7},
		brief{20, 20, result.EventIPI, "call_function", 7},
		brief{20, 20, result.EventIPI, "call_function", 7},
		brief{30, 30, result.EventIPI, "function:flush_tlb_func", 7},
		brief{40, 40, result.EventTLBFlush, "remote shootdown", 7},
		brief{50, 50, result.EventWakeup, "kworker/1:2", 9},
		brief{60, 60, result.EventPoll, "dut:in", 7},
		brief{70, 70, result.EventStage, "stack dut:in", 7})
	for i, other := range map[int]int32{1: 3, 2: 64, 3: 66, 4: 2, 6: 1} {
		if got[i].Other != other {
			t.Errorf("event %d is for CPU %d, want %d", i, got[i].Other, other)
		}
	}
	if got[5].Value != 33 || got[7].Value != 12 || got[8].Value != 4711 {
		t.Errorf("%+v", got)
	}
}

func TestIdleness(t *testing.T) {
	hold(t, events(span{0, 1000}, 0,
		record{ns: 100, kind: kindIdle, a: idleEnds},
		record{ns: 200, kind: kindIdle, a: 1},
		record{ns: 300, kind: kindIdle, a: idleEnds},
		record{ns: 900, kind: kindIdle, a: 2}),
		brief{0, 1000, result.EventThread, "idle", 0},
		brief{0, 100, result.EventIdle, "", 0},
		brief{200, 300, result.EventIdle, "", 0},
		brief{900, 1000, result.EventIdle, "", 0})
}
