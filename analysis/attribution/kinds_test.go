package attribution

import (
	"testing"

	"nines.dev/nines/result"
)

// TestEachKindIsNamedFirst makes up one disturbance of each kind, which delays one packet by most
// of the disturbance's length. It must be named first, with that many nanoseconds.
func TestEachKindIsNamedFirst(t *testing.T) {
	const at, length = 200 * ms, 2 * ms
	// A packet is due 100 µs after the disturbance begins, and leaves 10 µs after it ends.
	const due, waits = at + 100*us, length - 100*us + 10*us
	for _, c := range []struct {
		name  string
		make  func(m *made)
		cause result.Cause
		ns    int64
	}{
		{"a thread of a real-time policy", func(m *made) {
			m.spins(generator, 0, at, at+length, func(b, e int64) { m.add(result.EventThread, 0, b, e, "fifo", tid(hogTID), value(50)) })
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Priority, Name: "fifo", Source: "real-time priority 50", CPU: 0}, waits - 10*us},
		{"a competitor", func(m *made) {
			m.spins(generator, 0, at, at+length, func(b, e int64) { m.add(result.EventThread, 0, b, e, "hog", tid(hogTID)) })
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Hog, Name: "hog", CPU: 0}, waits - 10*us},
		{"a competitor on the forwarder's CPU", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.spins(forwarder, 1, at, at+length, func(b, e int64) { m.add(result.EventThread, 1, b, e, "hog", tid(hogTID)) })
			m.late(due, 0, waits, 2*us)
		}, result.Cause{Kind: Hog, Name: "hog", CPU: 1}, waits - 10*us},
		{"a kernel thread", func(m *made) {
			m.spins(generator, 0, at, at+length, func(b, e int64) {
				m.add(result.EventThread, 0, b, e, "migration/0", tid(hogTID), value(99))
			})
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: KernelThread, Name: "migration/0", CPU: 0}, waits - 10*us},
		{"an item of a workqueue", func(m *made) {
			m.spins(generator, 0, at, at+length, func(b, e int64) {
				m.add(result.EventThread, 0, b, e, "kworker/0:2", tid(hogTID))
				m.add(result.EventWork, 0, b, e-us, "vmstat_update")
			})
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Workqueue, Name: "vmstat_update", Source: "kworker/0:2", CPU: 0}, waits - 10*us},
		{"a softirq within the thread", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventInterrupt, 0, at-us, at, "call_function_single")
			m.add(result.EventSoftirq, 0, at, at+length, "NET_RX")
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Softirq, Name: "NET_RX", CPU: 0}, waits - 10*us},
		{"a softirq in its kernel thread", func(m *made) {
			m.spins(generator, 0, at, at+length, func(b, e int64) {
				m.add(result.EventThread, 0, b, e, "ksoftirqd/0", tid(hogTID))
				m.add(result.EventSoftirq, 0, b, e, "TASKLET")
			})
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Softirq, Name: "TASKLET", CPU: 0}, waits - 10*us},
		{"a device's interrupt", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventInterrupt, 0, at, at+length, "virtio0-input.0", value(24))
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Interrupt, Name: "virtio0-input.0", CPU: 0}, waits},
		{"interrupts of another CPU", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 1, -50*ms, 2000*ms, "membarrier", tid(hogTID))
			for b := at; b < at+length; b += 20 * us {
				m.add(result.EventIPI, 1, b-us, b-us, "call_function_single", other(0), tid(hogTID))
				m.add(result.EventInterrupt, 0, b, b+19*us, "call_function_single")
			}
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: IPI, Name: "call_function_single", Source: "membarrier", CPU: 0}, waits},
		{"TLB shootdowns", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 1, -50*ms, 2000*ms, "unmapper", tid(hogTID))
			for b := at; b < at+length; b += 20 * us {
				m.add(result.EventIPI, 1, b-us, b-us, "call_function", other(0), tid(hogTID))
				m.add(result.EventInterrupt, 0, b, b+19*us, "call_function")
				m.add(result.EventTLBFlush, 0, b+us, b+us, "remote shootdown", value(1))
			}
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: TLBShootdown, Source: "unmapper", CPU: 0}, waits},
		{"a flood of timers", func(m *made) {
			m.spins(generator, 0, 0, 0)
			for b := at; b < at+length; b += 20 * us {
				m.add(result.EventInterrupt, 0, b, b+19*us, "local_timer")
				m.add(result.EventTimer, 0, b+us, b+8*us, "timerfd_tmrproc")
			}
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Timer, Name: "timerfd_tmrproc", CPU: 0}, waits},
		{"a tick", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventInterrupt, 0, at, at+length, "local_timer")
			m.add(result.EventTimer, 0, at+us, at+length-us, "tick_nohz_handler")
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Tick, Name: "tick_nohz_handler", CPU: 0}, waits},
		{"a process that is stopped", func(m *made) {
			m.add(result.EventThread, 0, -50*ms, at, "nines-engine", tid(generator), state("T"))
			m.wake(0, at+length, generator)
			m.add(result.EventThread, 0, at, at+length, "idle")
			m.add(result.EventThread, 0, at+length, 2000*ms, "nines-engine", tid(generator))
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Stopped, Name: "nines-engine", CPU: 0}, waits - 10*us},
		{"a receiver that is stopped while it sleeps", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 2, -50*ms, at, "nines-engine", tid(receiver), state("T"))
			m.wake(2, at+length, receiver)
			m.add(result.EventThread, 2, at+length, at+length+50*us, "nines-engine", tid(receiver), state("S"))
			m.late(due, 0, waits, 2*us)
		}, result.Cause{Kind: Stopped, Name: "nines-engine", CPU: 2}, length - 100*us},
		{"a spinning thread that sleeps", func(m *made) {
			m.add(result.EventThread, 0, -50*ms, at, "nines-engine", tid(generator), state("D"))
			m.wake(0, at+length, generator)
			m.add(result.EventThread, 0, at+length, 2000*ms, "nines-engine", tid(generator))
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Blocked, Name: "D", CPU: 0}, waits - 10*us},
		{"a CPU that wakes up late", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 2, at, at+60*us, "nines-engine", tid(receiver), state("S"))
			m.add(result.EventThread, 2, at+60*us, due+20*us+length, "idle")
			m.wake(2, due+20*us, receiver)
			m.add(result.EventThread, 2, due+20*us+length, 2000*ms, "nines-engine", tid(receiver))
			m.late(due, 0, 20*us, length+2*us)
			m.slow[0].PollGapNs = 2 * us
		}, result.Cause{Kind: IdleExit, CPU: 2}, length},
		{"a CPU that another thread has when it wakes", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 2, at, at+60*us, "nines-engine", tid(receiver), state("S"))
			m.add(result.EventThread, 2, at+60*us, due+20*us+length, "hog", tid(hogTID))
			m.wake(2, due+20*us, receiver)
			m.add(result.EventThread, 2, due+20*us+length, 2000*ms, "nines-engine", tid(receiver))
			m.late(due, 0, 20*us, length+2*us)
			m.slow[0].PollGapNs = 2 * us
		}, result.Cause{Kind: Hog, Name: "hog", CPU: 2}, length},
		{"a thread that is kept from an idle CPU", func(m *made) {
			m.spins(generator, 0, at, at+length, func(b, e int64) { m.add(result.EventThread, 0, b, e, "idle") })
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Throttled, CPU: 0}, waits - 10*us},
		{"a thread that is woken, and kept from a CPU that goes idle again", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 2, at, at+60*us, "nines-engine", tid(receiver), state("S"))
			m.add(result.EventThread, 2, at+60*us, due+20*us+length, "idle")
			m.wake(2, due+20*us, receiver)
			m.add(result.EventIdle, 2, at+60*us, due+21*us, "")
			m.add(result.EventIdle, 2, due+20*us+length*3/4, due+20*us+length, "")
			m.add(result.EventThread, 2, due+20*us+length, 2000*ms, "nines-engine", tid(receiver))
			m.late(due, 0, 20*us, length+2*us)
			m.slow[0].PollGapNs = 2 * us
		}, result.Cause{Kind: Throttled, CPU: 2}, length},
		{"a wait for a CPU whose thread is not known", func(m *made) {
			m.spins(generator, 0, at, at+length, func(int64, int64) {})
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Scheduler, CPU: 0}, waits - 10*us},
		{"a full queue", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 2, -50*ms, 2000*ms, "nines-engine", tid(receiver))
			m.add(result.EventDrop, 0, due+ms, due+ms, "SOCKET_RCVBUFF")
			m.late(due, 0, waits, 2*us)
		}, result.Cause{Kind: RingFull, CPU: 2}, waits - 20*us},
		{"a full queue that only counters tell of", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.details.Drops = []result.Counter{{Name: "sink bad_checksum", Count: 900}, {Name: "dut:in rx_queue_full", Count: 700}}
			for i := range int64(100) {
				m.late(at+i*us, 0, 30*us+20*i*us, 2*us)
			}
		}, result.Cause{Kind: RingFull, Name: "dut:in", CPU: 1}, 10*us + 20*99*us},
		{"a full queue, and a receiver that others are in the way of now and then", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventDrop, 0, due+ms, due+ms, "SOCKET_RCVBUFF")
			for b := due; b < due+waits; b += 50 * us { // sleeps for 10 µs, then waits for 15
				m.add(result.EventThread, 2, b, b+25*us, "nines-engine", tid(receiver), state("S"))
				m.wake(2, b+35*us, receiver)
				m.add(result.EventThread, 2, b+25*us, b+50*us, "other", tid(hogTID))
			}
			m.add(result.EventThread, 2, due+waits, 2000*ms, "nines-engine", tid(receiver))
			m.late(due, 0, waits, 2*us)
			m.slow[0].PollGapNs = 2 * us
		}, result.Cause{Kind: RingFull, CPU: 2}, waits + 2*us},
		{"a queue that was full just before", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventThread, 2, -50*ms, 2000*ms, "nines-engine", tid(receiver))
			m.add(result.EventDrop, 0, due-ms/10, due-ms/10, "SOCKET_RCVBUFF")
			m.late(due, 0, waits, 2*us)
		}, result.Cause{Kind: RingFull, CPU: 2}, waits - 20*us},
		{"a queue", func(m *made) {
			m.spins(generator, 0, 0, 0)
			for i := range int64(100) {
				m.late(at+i*us, 0, 30*us+20*i*us, 2*us)
			}
		}, result.Cause{Kind: Queue, CPU: 2}, 10*us + 20*99*us},
		{"a forwarder that is busy", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.threads[1].Spins = false
			m.add(result.EventThread, 1, -50*ms, 2000*ms, "nines-engine", tid(forwarder))
			for i := range int64(100) {
				m.late(at+i*us, 0, 30*us+20*i*us, 2*us)
			}
		}, result.Cause{Kind: Forwarder, Name: "dut", CPU: 1}, 10*us + 20*99*us},
		{"a competitor on the CPU of a thread that receives", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.threads[1].Role, m.threads[1].Spins = result.RolePoller, false
			m.spins(forwarder, 1, at, at+length, func(b, e int64) { m.add(result.EventThread, 1, b, e, "hog", tid(hogTID)) })
			m.late(due, 0, waits, 2*us)
		}, result.Cause{Kind: Hog, Name: "hog", CPU: 1}, waits - 10*us},
		{"a queue beside a thread that polls, which is busy without packets", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.threads[1].Role, m.threads[1].Spins = result.RolePoller, false
			m.add(result.EventThread, 1, -50*ms, 2000*ms, "nines-poller", tid(forwarder))
			for i := range int64(100) {
				m.late(at+i*us, 0, 30*us+20*i*us, 2*us)
			}
		}, result.Cause{Kind: Queue, CPU: 2}, 10*us + 20*99*us},
		{"an interrupt of a CPU that never ran another thread", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.add(result.EventInterrupt, 1, at, at+length, "nvme0q1")
			m.late(due, 0, waits, 2*us)
		}, result.Cause{Kind: Interrupt, Name: "nvme0q1", CPU: 1}, waits - 10*us},
		{"nothing that was recorded", func(m *made) {
			m.spins(generator, 0, 0, 0)
			m.late(due, waits, 20*us, 2*us)
		}, result.Cause{Kind: Unexplained, CPU: -1}, waits},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMade()
			c.make(m)
			causes := m.attribute()
			if len(causes.Ranking) == 0 || causes.Ranking[0].Cause != c.cause {
				t.Fatalf("the ranking is %+v; first should be %+v", causes.Ranking, c.cause)
			}
			last := causes.Packets[len(causes.Packets)-1]
			if first := Totals(last)[0]; first.Cause != c.cause || first.Ns != c.ns {
				t.Errorf("the packet's first cause is %+v, want %d ns of %+v", first, c.ns, c.cause)
			}
			adds(t, causes)
		})
	}
}

// adds checks that the parts of each phase add up to its length, and that none is negative.
func adds(t *testing.T, causes result.Causes) {
	t.Helper()
	for _, p := range causes.Packets {
		for _, phase := range p.Phases {
			sum := phase.OrdinaryNs + phase.UnexplainedNs
			for _, share := range phase.Causes {
				sum += share.Ns
				if share.Ns <= 0 {
					t.Errorf("packet %d, %s: %d ns of %+v", p.ID, phase.Phase, share.Ns, share.Cause)
				}
			}
			if sum != phase.EndNs-phase.BeginNs || phase.OrdinaryNs < 0 || phase.UnexplainedNs < 0 {
				t.Errorf("packet %d, %s: %+v adds up to %d of %d ns", p.ID, phase.Phase, phase, sum, phase.EndNs-phase.BeginNs)
			}
		}
	}
}
