package attribution

import (
	"nines.dev/nines/result"
)

// made is a made-up trial: a generator (TID 10, CPU 0) that sends, and may receive too, or a
// separate receiver (TID 30, CPU 2) that sleeps until packets come, and a forwarder (TID 20, CPU 1)
// between them. One packet is sent each millisecond.
type made struct {
	events  []result.Event
	threads []result.TracedThread
	details result.Details
	slow    []result.Outlier
	usual   []result.Outlier
}

const (
	us = int64(1000)
	ms = 1000 * us
	// started is when the trial's first packet was due.
	started = 5000 * ms

	generator, forwarder, receiver = 10, 20, 30
	hogTID                         = 99
)

// newMade makes a trial with an ordinary packet in each of the first 100 ms. They leave at once,
// travel 20 µs, and are received within 2 µs.
func newMade() *made {
	m := &made{threads: []result.TracedThread{
		{Role: result.RoleSender, Node: "gen", Name: "nines-engine", TID: generator, CPU: 0, Spins: true},
		{Role: result.RoleForwarder, Node: "dut", Name: "nines-engine", TID: forwarder, CPU: 1, Spins: true},
		{Role: result.RoleReceiver, Node: "sink", Name: "nines-engine", TID: receiver, CPU: 2},
	}}
	for i := range int64(100) {
		m.usual = append(m.usual, m.packet(uint32(i), i*ms, 0, 20*us, 2*us))
	}
	m.details = result.Details{StartedNs: started, Trace: &result.Trace{
		Threads: m.threads, Stretches: [][2]int64{{started - 100*ms, started + 3000*ms}}}}
	return m
}

// packet makes a packet from its intended send time since the start and its three waits: before
// sending, in transit, before reception.
func (m *made) packet(id uint32, intended, wait, travel, receive int64) result.Outlier {
	o := result.Outlier{ID: id, Stream: 1, IntendedNs: intended, TxNs: intended + wait, RxNs: intended + wait + travel + receive,
		SendLagNs: wait, FromTxNs: travel + receive, LatencyNs: wait + travel + receive, PollGapNs: receive, TxCPU: 0, RxCPU: 2}
	return o
}

// late adds a slow packet.
func (m *made) late(intended, wait, travel, receive int64) {
	m.slow = append(m.slow, m.packet(uint32(1000+len(m.slow)), intended, wait, travel, receive))
}

// add adds an event with times since the start.
func (m *made) add(kind result.EventKind, cpu int32, begin, end int64, name string, change ...func(*result.Event)) {
	e := result.Event{Kind: kind, CPU: cpu, BeginNs: started + begin, EndNs: started + end, Name: name, Other: -1}
	for _, c := range change {
		c(&e)
	}
	m.events = append(m.events, e)
}

func tid(n int32) func(*result.Event)    { return func(e *result.Event) { e.TID = n } }
func value(n int64) func(*result.Event)  { return func(e *result.Event) { e.Value = n } }
func other(n int32) func(*result.Event)  { return func(e *result.Event) { e.Other = n } }
func state(s string) func(*result.Event) { return func(e *result.Event) { e.State = s } }
func preempted(e *result.Event)          { e.Preempted = true }
func (m *made) attribute() result.Causes { return Attribute(m.input()) }
func (m *made) input() Input             { return Input{m.slow, m.usual, m.events, m.details} }
func (m *made) wake(cpu int32, at int64, of int32) {
	m.add(result.EventWakeup, cpu, at, at, "", tid(of), other(cpu))
}

// spins runs a busy-polling thread on a CPU, except while another thread has the CPU.
func (m *made) spins(of int32, cpu int32, begin, end int64, taken ...func(begin, end int64)) {
	if len(taken) == 0 {
		m.add(result.EventThread, cpu, -50*ms, 2000*ms, "nines-engine", tid(of))
		return
	}
	m.add(result.EventThread, cpu, -50*ms, begin, "nines-engine", tid(of), preempted)
	for _, by := range taken {
		by(begin, end)
	}
	m.add(result.EventThread, cpu, end, 2000*ms, "nines-engine", tid(of))
}
