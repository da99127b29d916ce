package client

import (
	"encoding/binary"
	"testing"
)

// written are arrivals with rows as an engine writes them, of which n have a latency of their number in ns.
type written struct {
	*Arrivals
	t      testing.TB
	memory []byte
}

func writtenArrivals(t testing.TB, room int) *written {
	t.Helper()
	a, err := NewArrivals()
	if err != nil {
		t.Fatal(err)
	}
	w := &written{Arrivals: a, t: t, memory: make([]byte, arrivalsHeaderBytes+room*arrivalsRowBytes)}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	copy(w.memory, arrivalsMagic)
	binary.LittleEndian.PutUint32(w.memory[8:], arrivalsVersion)
	binary.LittleEndian.PutUint64(w.memory[arrivalsCapacity:], uint64(room))
	w.state(TrialRunning)
	return w
}

func (w *written) row(i int, value uint64) {
	binary.LittleEndian.PutUint64(w.memory[arrivalsHeaderBytes+i*arrivalsRowBytes:], value)
}

// state writes everything, with this state.
func (w *written) state(s ArrivalsState) {
	binary.LittleEndian.PutUint32(w.memory[arrivalsState:], uint32(s))
	w.flush()
}

// until has the engine write rows until this one.
func (w *written) until(n int) {
	binary.LittleEndian.PutUint64(w.memory[arrivalsWritten:], uint64(n))
	for i := range n {
		w.row(i, uint64(i)<<32|uint64(i%2)<<31)
	}
	w.flush()
}

func (w *written) flush() {
	w.t.Helper()
	if _, err := w.file.WriteAt(w.memory, 0); err != nil {
		w.t.Fatal(err)
	}
}

// TestAGlanceReadsFewRows, whatever has come: all of few packets, and of many the same number, spread over all of them.
func TestAGlanceReadsFewRows(t *testing.T) {
	const many = 1_000_000
	w := writtenArrivals(t, many)
	g, err := w.Glance()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}()
	if seen := g.Look(); len(seen) != 0 {
		t.Errorf("%d packets before the first", len(seen))
	}
	w.until(100)
	if seen := g.Look(); len(seen) != 100 || seen[99] != (Glimpsed{99, true}) || seen[98] != (Glimpsed{98, false}) {
		t.Errorf("%d of 100 packets: %v", len(seen), seen)
	}
	w.until(many)
	seen := g.Look()
	if len(seen) != glanceBlocks*glanceRows {
		t.Fatalf("%d of a million packets", len(seen))
	}
	if first, last := seen[0].LatencyNs, seen[len(seen)-1].LatencyNs; first != 100 || last != many-1 {
		t.Errorf("from %d to %d", first, last)
	}
	longest := uint32(0)
	for i := 1; i < len(seen); i++ {
		longest = max(longest, seen[i].LatencyNs-seen[i-1].LatencyNs)
	}
	if longest > many/(glanceBlocks-1) {
		t.Errorf("%d rows between two that it reads", longest)
	}
	if seen := g.Look(); len(seen) != 0 {
		t.Errorf("%d packets come twice", len(seen))
	}
}

// TestAGlanceLeavesOutWhatIsNoPacket, and a trial that has ended.
func TestAGlanceLeavesOutWhatIsNoPacket(t *testing.T) {
	w := writtenArrivals(t, 10)
	w.until(3)
	w.row(1, arrivalsCarry)
	w.flush()
	g, err := w.Glance()
	if err != nil {
		t.Fatal(err)
	}
	if seen := g.Look(); len(seen) != 2 || seen[1].LatencyNs != 2 {
		t.Errorf("%v", seen)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	w.state(TrialEnded)
	if _, err := w.Glance(); err == nil {
		t.Error("a glance at a trial that has ended")
	}
}

// BenchmarkGlance is what the live line costs each second at a million packets a second.
func BenchmarkGlance(b *testing.B) {
	const rows = 10_000_000
	w := writtenArrivals(b, rows)
	w.until(rows)
	g, err := w.Glance()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	for b.Loop() {
		g.view.next = 0
		g.Look()
	}
}
