package attribution

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// TestWhatOrdinaryPacketsHaveAsWellIsNoCause: a tick and the receive softirq around every packet
// stay ordinary, and the rest is reported as unexplained.
func TestWhatOrdinaryPacketsHaveAsWellIsNoCause(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	for i := range int64(100) {
		m.add(result.EventInterrupt, 0, i*ms+us, i*ms+6*us, "local_timer")
		m.add(result.EventSoftirq, 0, i*ms+7*us, i*ms+12*us, "NET_RX")
	}
	// After an interrupt it could come from anywhere; without one, the thread asked for it.
	m.add(result.EventSoftirq, 0, 200*ms+20*us, 200*ms+25*us, "NET_RX")
	m.add(result.EventInterrupt, 0, 200*ms+us, 200*ms+6*us, "local_timer")
	m.add(result.EventSoftirq, 0, 200*ms+7*us, 200*ms+12*us, "NET_RX")
	m.late(200*ms, 0, 60*us, 2*us)
	causes := m.attribute()
	if len(causes.Ranking) != 1 || causes.Ranking[0].Cause.Kind != Unexplained || causes.Ranking[0].TotalNs != 40*us {
		t.Errorf("the ranking is %+v; 40 µs that nothing explains should be alone in it", causes.Ranking)
	}
	if transit := causes.Packets[0].Phases[1]; transit.OrdinaryNs != 20*us || len(transit.Causes) != 0 {
		t.Errorf("transit is %+v; 20 µs of it are ordinary", transit)
	}
}

// TestAnInterruptTakesMoreThanItsHandler: up to 20 µs of unexplained time beside it.
func TestAnInterruptTakesMoreThanItsHandler(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	m.add(result.EventInterrupt, 0, 200*ms+us, 200*ms+2*us, "call_function_single")
	m.late(200*ms, 0, 28*us, 2*us)
	m.add(result.EventInterrupt, 0, 210*ms+us, 210*ms+2*us, "call_function_single")
	m.late(210*ms, 0, 60*us, 2*us)
	causes := m.attribute()
	for i, want := range [][2]int64{{8 * us, 0}, {21 * us, 19 * us}} {
		transit := causes.Packets[i].Phases[1]
		if len(transit.Causes) != 1 || transit.Causes[0].Ns != want[0] || transit.UnexplainedNs != want[1] {
			t.Errorf("transit is %+v; want %d ns of the interrupt and %d unexplained", transit, want[0], want[1])
		}
	}
}

// TestASoftirqThatBeganBeforeTheEvents: its origin is unknown, so it does not count as the thread's
// own.
func TestASoftirqThatBeganBeforeTheEvents(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	m.details.Trace.Stretches = [][2]int64{{started - 50*ms, started + 150*ms}, {started + 200*ms - 50*us, started + 500*ms}}
	m.add(result.EventSoftirq, 0, 200*ms-50*us, 203*ms, "NET_RX")
	m.late(200*ms, 3*ms, 20*us, 2*us)
	if first := m.attribute().Ranking[0]; first.Cause.Kind != Softirq || first.TotalNs < 2900*us {
		t.Errorf("first is %+v", first)
	}
}

// TestAStormThatMakesAQueue: interrupts take more of a CPU than their handlers show and leave the
// sender too little, so a queue grows behind it.
func TestAStormThatMakesAQueue(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	for at := 200 * ms; at < 220*ms; at += 16 * us {
		m.add(result.EventInterrupt, 0, at, at+us, "call_function_single")
	}
	// One is due every 10 µs, and one is sent every 14 µs.
	for i := range int64(200) {
		m.late(200*ms+10*us*i, 4*us*i, 20*us, 2*us)
	}
	causes := m.attribute()
	adds(t, causes)
	if first := causes.Ranking[0]; first.Cause.Kind != IPI || first.Packets < 190 {
		t.Errorf("the ranking is %+v", causes.Ranking)
	}
}

// TestLift: two causes are the largest part of equally many packets. The one that is as large
// around ordinary packets comes second.
func TestLift(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	for i := range int64(30) { // of the 100 ordinary packets
		m.add(result.EventInterrupt, 0, i*ms+us, i*ms+12*us, "often")
	}
	for i := range int64(6) {
		at := 200*ms + i*ms
		name := "often"
		if i%2 == 1 {
			name = "seldom"
		}
		m.add(result.EventInterrupt, 0, at+us, at+12*us, name)
		m.late(at, 0, 31*us, 2*us)
	}
	ranking := m.attribute().Ranking
	if len(ranking) != 2 || ranking[0].Cause.Name != "seldom" || ranking[0].Lift != nil || ranking[1].Cause.Name != "often" {
		t.Fatalf("the ranking is %+v", ranking)
	}
	if lift := ranking[1].Lift; lift == nil || *lift < 1.6 || *lift > 1.7 {
		t.Errorf("half of the slow and 30 of 100 ordinary packets have it: the lift is %v, should be 1.67", lift)
	}
}

// TestVictimsOfAStall: packets that were due in a stall, or queued behind those, are late because
// of what caused the stall.
func TestVictimsOfAStall(t *testing.T) {
	const at, length = 200 * ms, 2 * ms
	m := newMade()
	m.spins(generator, 0, at, at+length, func(b, e int64) { m.add(result.EventThread, 0, b, e, "hog", tid(hogTID)) })
	// One is due every 20 µs, and each takes 10 µs to send while the backlog drains.
	for i := range int64(150) {
		due := at + 20*us*i
		sent := at + length + 10*us*(i+1)
		if sent < due {
			break
		}
		m.late(due, sent-due, 20*us, 2*us)
	}
	causes := m.attribute()
	adds(t, causes)
	if first := causes.Ranking[0]; first.Cause.Kind != Hog || first.Packets != len(m.slow) {
		t.Errorf("of %d packets the first cause is %+v", len(m.slow), causes.Ranking)
	}
	for i, p := range causes.Packets {
		if wait := p.Phases[0]; wait.UnexplainedNs > 10*us { // what sending takes itself
			t.Errorf("packet %d waits %d ns that nothing explains", i, wait.UnexplainedNs)
		}
	}
}

// TestVictimsAtTheReceiver is the same for a receiver that is kept from its CPU and then reads the
// backlog: only the first packet's poll gap is the stall.
func TestVictimsAtTheReceiver(t *testing.T) {
	const at, length = 200 * ms, 2 * ms
	m := newMade()
	m.threads[2].Spins = true
	m.spins(generator, 0, 0, 0)
	m.spins(receiver, 2, at, at+length, func(b, e int64) { m.add(result.EventThread, 2, b, e, "hog", tid(hogTID)) })
	for i := range int64(150) {
		due := at + 20*us*i
		read := at + length + 10*us*(i+1)
		if read < due+20*us {
			break
		}
		o := m.packet(uint32(1000+i), due, 0, read-due-10*us, 10*us)
		if i == 0 {
			o.PollGapNs = length
		}
		m.slow = append(m.slow, o)
	}
	causes := m.attribute()
	adds(t, causes)
	if first := causes.Ranking[0]; first.Cause.Kind != Hog || first.Packets < len(m.slow)*9/10 {
		t.Errorf("of %d packets the first cause is %+v", len(m.slow), causes.Ranking)
	}
}

// TestAStallWithinAnEmptyLook: a look of the receiver's had found nothing when it lost its CPU, and the packet came
// meanwhile. Its gap is from the beginning of that look, so the wait is the receiver's and not on the way. In results
// of before the gap is from the end of that look, and the same stall is found in the transit.
func TestAStallWithinAnEmptyLook(t *testing.T) {
	const at, length = 200 * ms, 2 * ms
	for from, want := range map[string]int{result.PollGapFromLook: receive, "": transit} {
		m := newMade()
		m.details.PollGapFrom = from
		m.threads[2].Spins = true
		m.spins(generator, 0, 0, 0)
		m.spins(receiver, 2, at, at+length, func(b, e int64) { m.add(result.EventThread, 2, b, e, "hog", tid(hogTID)) })
		m.late(at+100*us, 0, length-100*us, us)
		if from == result.PollGapFromLook {
			m.slow[0].PollGapNs = length + 3*us
		}
		causes := m.attribute()
		adds(t, causes)
		if c := causes.Ranking[0].Cause; c.Kind != Hog {
			t.Errorf("gaps from %q: the cause is %+v", from, c)
		}
		if p := causes.Packets[0].Phases[want]; p.EndNs-p.BeginNs < length*9/10 {
			t.Errorf("gaps from %q: the %s takes %d ns", from, p.Phase, p.EndNs-p.BeginNs)
		}
	}
}

// TestALookBeforeASleep is in the gap of the packet that ended the sleep, which came when it woke its receiver.
func TestALookBeforeASleep(t *testing.T) {
	const due = 200 * ms
	m := newMade()
	m.spins(generator, 0, 0, 0)
	m.add(result.EventThread, 2, due-ms, due-10*us, "nines-engine", tid(receiver), state("S"))
	m.add(result.EventThread, 2, due-10*us, due+220*us, "idle")
	m.wake(2, due+200*us, receiver)
	m.add(result.EventThread, 2, due+220*us, 2000*ms, "nines-engine", tid(receiver))
	m.late(due, 0, 200*us, 22*us)
	m.slow[0].PollGapNs = ms
	if p := m.attribute().Packets[0].Phases[receive]; p.EndNs-p.BeginNs != 22*us {
		t.Errorf("the %s takes %d ns", p.Phase, p.EndNs-p.BeginNs)
	}
}

// TestAStallThatWasNotRecorded stays unexplained, and so do its victims: they do not count as
// queued.
func TestAStallThatWasNotRecorded(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	for i := range int64(150) {
		due, sent := 200*ms+20*us*i, 202*ms+10*us*(i+1)
		if sent < due {
			break
		}
		m.late(due, sent-due, 20*us, 2*us)
	}
	if first := m.attribute().Ranking[0]; first.Cause.Kind != Unexplained {
		t.Errorf("the first cause is %+v", first)
	}
}

// TestPacketsWithoutEvents are not reported as unexplained.
func TestPacketsWithoutEvents(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	m.late(200*ms, 0, 500*us, 2*us)
	m.late(4000*ms, 0, 500*us, 2*us)
	m.details.Trace.Lost = 7
	in := m.input()
	causes := Attribute(in)
	if first := causes.Ranking[0]; first.Packets != 1 || len(causes.Ranking) != 1 {
		t.Errorf("the ranking is %+v", causes.Ranking)
	}
	notes := strings.Join(causes.Notes, "\n")
	if !strings.Contains(notes, "no events were kept for 1 of the 2 slowest packets") || !strings.Contains(notes, "7 events were lost") {
		t.Errorf("the notes are %q", notes)
	}
	Annotate(in.Slow, causes)
	if in.Slow[0].Cause != "unexplained" || in.Slow[1].Cause != "" {
		t.Errorf("the outliers' causes are %q and %q", in.Slow[0].Cause, in.Slow[1].Cause)
	}
}

// TestPacketsThatHappenToHaveEventsAreNotRanked: near the slowest packets, for which events are
// kept, lie less slow packets, more of them where packets are dense. They are explained, and do not
// count in the ranking.
func TestPacketsThatHappenToHaveEventsAreNotRanked(t *testing.T) {
	m := newMade()
	m.spins(generator, 0, 0, 0)
	for i := range int64(3) {
		at := 200*ms + i*ms
		m.add(result.EventInterrupt, 0, at, at+100*us, "of the slowest")
		m.late(at, 100*us, 20*us, 2*us)
	}
	for i := range int64(20) {
		at := 300*ms + i*ms
		m.add(result.EventInterrupt, 0, at, at+50*us, "of others")
		m.late(at, 50*us, 20*us, 2*us)
	}
	m.late(4000*ms, 200*us, 20*us, 2*us) // its events were not kept
	m.details.Trace.Slowest = 4
	in := m.input()
	causes := Attribute(in)
	if causes.Slowest != 4 || causes.Recorded != 3 || len(causes.Packets) != 24 {
		t.Errorf("%d of the %d slowest of %d packets have events", causes.Recorded, causes.Slowest, len(causes.Packets))
	}
	if len(causes.Ranking) != 1 || causes.Ranking[0].Packets != 3 || causes.Ranking[0].Cause.Name != "of the slowest" {
		t.Errorf("the ranking is %+v", causes.Ranking)
	}
	if notes := strings.Join(causes.Notes, "\n"); !strings.Contains(notes, "no events were kept for 1 of the 4 slowest packets") {
		t.Errorf("the notes are %q", notes)
	}
	if Annotate(in.Slow, causes); in.Slow[10].Cause != "interrupt of others (CPU 0)" {
		t.Errorf("the cause of another packet is %q", in.Slow[10].Cause)
	}
}

// TestLostEventsAreNoCause: a CPU that seems to run no thread has lost its events.
func TestLostEventsAreNoCause(t *testing.T) {
	m := newMade()
	m.add(result.EventThread, 0, -50*ms, 100*ms, "nines-engine", tid(generator), preempted)
	m.add(result.EventThread, 0, 100*ms, 101*ms, "hog", tid(hogTID))
	m.add(result.EventThread, 0, 101*ms, 200*ms, "nines-engine", tid(generator))
	m.add(result.EventThread, 0, 202*ms, 2000*ms, "nines-engine", tid(generator))
	m.late(200*ms, 2*ms, 20*us, 2*us)
	causes := m.attribute()
	if len(causes.Ranking) != 0 || len(causes.Notes) != 1 {
		t.Errorf("%+v, %q", causes.Ranking, causes.Notes)
	}
}

func TestATrialThatWasNotRecorded(t *testing.T) {
	m := newMade()
	m.late(200*ms, 0, 500*us, 2*us)
	m.details.Trace = nil
	if causes := m.attribute(); len(causes.Packets) != 0 || len(causes.Notes) != 1 {
		t.Errorf("the causes are %+v", causes)
	}
}

// TestAnyEventsAddUp: for any recorded events in any order, even impossible ones, the parts of each
// phase add up to it, and the same input gives the same output.
func TestAnyEventsAddUp(t *testing.T) {
	kinds := []result.EventKind{result.EventThread, result.EventIdle, result.EventInterrupt, result.EventSoftirq, result.EventWork,
		result.EventTimer, result.EventPoll, result.EventTLBFlush, result.EventIPI, result.EventWakeup, result.EventDrop, result.EventStage}
	names := []string{"nines-engine", "idle", "hog", "kworker/0:1", "ksoftirqd/0", "local_timer", "call_function", "reschedule",
		"tick_nohz_handler", "NET_RX", "remote shootdown", "SOCKET_RCVBUFF", ""}
	tids := []int32{0, generator, forwarder, receiver, hogTID, -1}
	states := []string{"", "S", "D", "T"}
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m := newMade()
			m.threads[r.IntN(3)].Spins = r.IntN(2) == 0
			if r.IntN(3) == 0 {
				m.details.Trace.Threads = m.threads[:r.IntN(3)]
			}
			for range 400 {
				begin := r.Int64N(10 * ms)
				end := begin
				if r.IntN(4) > 0 {
					end += r.Int64N(ms)
				}
				m.add(kinds[r.IntN(len(kinds))], int32(r.IntN(4)), begin, end, names[r.IntN(len(names))],
					tid(tids[r.IntN(len(tids))]), value(r.Int64N(101)), other(int32(r.IntN(5)-1)), state(states[r.IntN(len(states))]),
					func(e *result.Event) { e.Preempted = r.IntN(3) == 0 })
			}
			for range 60 {
				m.late(r.Int64N(9*ms), r.Int64N(ms), r.Int64N(ms), r.Int64N(ms))
				m.slow[len(m.slow)-1].PollGapNs = r.Int64N(2*ms) - 1000
			}
			if r.IntN(2) == 0 {
				m.usual = nil
			}
			causes := m.attribute()
			adds(t, causes)
			for _, p := range causes.Packets {
				var whole int64
				for _, phase := range p.Phases {
					whole += phase.EndNs - phase.BeginNs
				}
				if whole != p.LatencyNs {
					t.Errorf("packet %d: its phases are %d ns of %d", p.ID, whole, p.LatencyNs)
				}
			}
			if again := m.attribute(); !reflect.DeepEqual(causes, again) {
				t.Error("the same input gives another output")
			}
		})
	}
}

// TestWhoIsNotKnownIsNotBlamed: the sender's thread is elsewhere, for example in a virtual machine.
// What keeps the receiver from its CPU meanwhile has not delayed the packet.
func TestWhoIsNotKnownIsNotBlamed(t *testing.T) {
	m := newMade()
	m.details.Trace.Threads = m.threads[2:]
	m.spins(receiver, 2, 200*ms, 202*ms, func(b, e int64) { m.add(result.EventThread, 2, b, e, "hog", tid(hogTID)) })
	m.late(200*ms, 2*ms, 20*us, 2*us)
	if ranking := m.attribute().Ranking; len(ranking) != 1 || ranking[0].Cause.Kind != Unexplained {
		t.Errorf("the ranking is %+v; the send wait has no explanation", ranking)
	}
}

// TestWhatIsKnownOfAnotherStretchSaysNothing: the receiver was preempted when the events of an
// earlier packet ended. Much later it sleeps, and the thread on its CPU delays nothing.
func TestWhatIsKnownOfAnotherStretchSaysNothing(t *testing.T) {
	m := newMade()
	m.details.Trace.Stretches = [][2]int64{{started - 100*ms, started + 120*ms}, {started + 199*ms, started + 300*ms}}
	m.spins(generator, 0, 0, 0)
	m.add(result.EventThread, 2, 110*ms, 119*ms, "nines-engine", tid(receiver), preempted)
	m.add(result.EventThread, 2, 119*ms, 120*ms, "hog", tid(hogTID))
	m.add(result.EventThread, 2, 199*ms, 202*ms, "hog", tid(hogTID))
	m.wake(2, 202*ms, receiver)
	m.add(result.EventThread, 2, 202*ms, 300*ms, "nines-engine", tid(receiver))
	m.late(200*ms, 0, 2*ms, 2*us)
	causes := m.attribute()
	if ranking := causes.Ranking; len(ranking) != 1 || ranking[0].Cause.Kind != Unexplained {
		t.Errorf("the ranking is %+v", ranking)
	}
	adds(t, causes)
}

// TestWhatBeganBeforeTheEvents: the events of a packet begin when its thread was already off its
// CPU. The thread that had the CPU is named all the same.
func TestWhatBeganBeforeTheEvents(t *testing.T) {
	const at, seen = 200 * ms, 80 * us
	for name, c := range map[string]struct {
		thread int32
		cpu    int32
		other  int32 // thread that has the CPU; 0: none
		want   string
	}{
		"the sender spins, another runs":          {generator, 0, hogTID, Hog},
		"the sender spins, its CPU is idle":       {generator, 0, 0, Throttled},
		"the receiver may sleep, another runs":    {receiver, 2, hogTID, Hog},
		"the receiver may sleep, its CPU is idle": {receiver, 2, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMade()
			if c.thread != generator {
				m.spins(generator, 0, 0, 0)
			}
			m.add(result.EventThread, c.cpu, -50*ms, 150*ms, "nines-engine", tid(c.thread), preempted)
			m.add(result.EventThread, c.cpu, at-seen, at+3*ms, "other", tid(c.other))
			m.add(result.EventThread, c.cpu, at+3*ms, at+500*ms, "nines-engine", tid(c.thread))
			if c.thread == generator {
				m.late(at, 3*ms+us, 20*us, 2*us)
			} else {
				m.late(at, 0, 20*us, 3*ms)
			}
			m.details.Trace.Stretches = [][2]int64{{started - 50*ms, started + 150*ms}, {started + at - seen, started + 500*ms}}
			var named string
			var most int64
			for _, phase := range m.attribute().Packets[0].Phases {
				for _, share := range phase.Causes {
					if share.Ns > most {
						named, most = share.Cause.Kind, share.Ns
					}
				}
			}
			if named != c.want || c.want != "" && most < 2900*us {
				t.Errorf("%q has %d ns of 3 ms; it should be %q", named, most, c.want)
			}
		})
	}
}

// TestThreadsOfOneProgramWork: where the threads of a device share a CPU and one waits for another, the device works, and no
// priority helps.
func TestThreadsOfOneProgramWork(t *testing.T) {
	const reader, worker = 41, 42
	for node, named := range map[string]bool{"dut": false, "other": true} {
		m := newMade()
		m.details.Trace.Threads = append(m.threads,
			result.TracedThread{Role: result.RoleService, Node: "dut", Name: "reader", TID: reader, CPU: 3},
			result.TracedThread{Role: result.RoleService, Node: node, Name: "worker", TID: worker, CPU: 3})
		m.spins(generator, 0, 0, 0)
		m.spins(forwarder, 1, 0, 0)
		m.wake(3, 200*ms+10*us, reader)
		m.add(result.EventThread, 3, 200*ms, 203*ms, "worker", tid(worker), state("S"))
		m.add(result.EventThread, 3, 203*ms, 204*ms, "reader", tid(reader), state("S"))
		m.late(200*ms, 0, 3*ms, 2*us)
		blamed := false
		for _, r := range m.attribute().Ranking {
			blamed = blamed || r.Cause.Name == "worker"
		}
		if blamed != named {
			t.Errorf("a worker in %s is blamed: %v", node, blamed)
		}
	}
}
