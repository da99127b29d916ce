package attribution

import (
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// TestRoundsOfAStorm: an interrupt raises the first softirq, and further ones follow without
// leaving, each raised by what came meanwhile. All are the storm's.
func TestRoundsOfAStorm(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	m.add(result.EventInterrupt, 0, 200*ms, 200*ms+us, "call_function_single")
	for i := range int64(10) {
		begin := 200*ms + us + i*200*us
		m.add(result.EventSoftirq, 0, begin, begin+200*us-300, "NET_RX")
	}
	m.late(200*ms, 2001*us, 20*us, 2*us)
	causes := m.attribute()
	adds(t, causes)
	first := Totals(causes.Packets[0])[0]
	if first.Cause != (result.Cause{Kind: Softirq, Name: "NET_RX", CPU: 0}) || first.Ns < 1990*us {
		t.Errorf("first is %+v; the storm took 1997 µs", first)
	}
}

// TestASoftirqOfTheThreadThatReceivesForOthers: what the thread's own send raised is its work,
// unless packets of others were received with it.
func TestASoftirqOfTheThreadThatReceivesForOthers(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		m := newMade()
		m.spins(generator, 0, 0, 0)
		m.add(result.EventSoftirq, 0, 200*ms+us, 200*ms+401*us, "NET_RX")
		if foreign {
			m.add(result.EventForeign, 0, 200*ms+401*us, 200*ms+401*us, "f1", value(300))
		}
		m.late(200*ms, 410*us, 20*us, 2*us)
		want := result.Cause{Kind: Unexplained, CPU: -1}
		if foreign {
			want = result.Cause{Kind: Softirq, Name: "NET_RX", Source: ForOthers, CPU: 0}
		}
		if first := m.attribute().Ranking[0]; first.Cause != want {
			t.Errorf("packets of others %t: first is %+v", foreign, first)
		}
	}
}

// TestACommonDisturbanceIsNotOrdinary: most packets wait for a hog, and none needs it.
func TestACommonDisturbanceIsNotOrdinary(t *testing.T) {
	m := newMade()
	m.usual = nil
	begin := int64(-50 * ms)
	hogged := func(at, length int64) {
		m.add(result.EventThread, 0, begin, at, "nines-engine", tid(generator), preempted)
		m.add(result.EventThread, 0, at, at+length, "hog", tid(hogTID), preempted)
		begin = at + length
	}
	for i := range int64(100) {
		wait := int64(0)
		if i%4 > 0 {
			wait = 300 * us
			hogged(i*ms, wait)
		}
		m.usual = append(m.usual, m.packet(uint32(i), i*ms, wait, 20*us, 2*us))
	}
	hogged(200*ms, 900*us)
	m.add(result.EventThread, 0, begin, 2000*ms, "nines-engine", tid(generator))
	m.late(200*ms, 900*us, 20*us, 2*us)
	causes := m.attribute()
	adds(t, causes)
	if first := Totals(causes.Packets[0])[0]; first.Cause.Kind != Hog || first.Ns != 900*us {
		t.Errorf("first is %+v; the hog took 900 µs", first)
	}
}

// TestAPacketThatLostEventsIsNotExplained, even if what is left of them shows a cause: what was lost
// may be the larger part.
func TestAPacketThatLostEventsIsNotExplained(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	for i := range int64(2) {
		at := (200 + 100*i) * ms
		m.add(result.EventInterrupt, 0, at+2*ms, at+3*ms, "nvme0q1")
		m.late(at, 3*ms, 20*us, 2*us)
	}
	m.details.Trace.Losses = []result.Loss{
		{CPU: 0, BeginNs: started + 199*ms, EndNs: started + 201*ms, Events: 8000, Mostly: result.EventSoftirq},
		{CPU: 3, BeginNs: started + 300*ms, EndNs: started + 303*ms, Events: 9000}, // not on the path
	}
	causes := m.attribute()
	lost := causes.Packets[0]
	if lost.Recorded || lost.Lost == nil || lost.Lost.Events != 4000 || lost.Lost.CPU != 0 {
		t.Fatalf("the first packet: %+v, lost %+v", lost.Recorded, lost.Lost)
	}
	if !causes.Packets[1].Recorded || causes.Ranking[0].Packets != 1 || causes.Recorded != 1 {
		t.Errorf("the second packet lost nothing of its path: %+v", causes)
	}
	notes := strings.Join(causes.Notes, "\n")
	if !strings.Contains(notes, "lost the events of 33 % of this packet's time: about 4000 events in 1 ms on CPU 0, mostly of the kind softirq") {
		t.Errorf("the notes are %q", notes)
	}
}
