package trace

import (
	"slices"
	"testing"

	"nines.dev/nines/result"
)

// TestCarriers: a forwarder (7) that packets wake in softirqs, which have interrupted another thread (9), and that sends them
// on; a kernel that forwards in a softirq; a thread (5) that empties a queue with packets of others; one (8) that a packet woke
// by chance; and a missing switch.
func TestCarriers(t *testing.T) {
	thread := func(begin, end int64, tid int32, state string) result.Event {
		return result.Event{Kind: result.EventThread, BeginNs: begin, EndNs: end, CPU: 1, TID: tid, State: state}
	}
	stage := func(at int64, tid int32, packet int64, name string) result.Event {
		return result.Event{Kind: result.EventStage, BeginNs: at, EndNs: at, CPU: 1, TID: tid, Name: name, Value: packet}
	}
	softirq := func(begin, end int64) result.Event {
		return result.Event{Kind: result.EventSoftirq, Name: "NET_RX", BeginNs: begin, EndNs: end, CPU: 1}
	}
	wake := func(at int64, tid int32) result.Event {
		return result.Event{Kind: result.EventWakeup, BeginNs: at, EndNs: at, CPU: 1, TID: tid}
	}
	got := Carriers([]result.Event{
		thread(0, 100, 9, "S"),
		softirq(10, 30), stage(11, 9, 1, "stack dut:in"), wake(12, 7), stage(13, 9, 1, "wake dut:in"), wake(14, 7), stage(15, 9, 2, "wake dut:in"),
		softirq(40, 60), stage(41, 9, 3, "stack router:in"), stage(45, 9, 3, "qdisc router:out"), stage(46, 9, 4, "qdisc router:out"),
		thread(100, 150, 7, "S"), stage(110, 7, 1, "read dut:in"), stage(120, 7, 1, "qdisc dut:out"), stage(121, 7, 1, "driver dut:out"),
		stage(122, 7, 2, "driver dut:out"), // by a socket that bypasses the queue
		wake(130, 8), stage(131, 7, 2, "wake dut:in"),
		thread(150, 200, 5, "S"), stage(160, 5, 3, "driver router:out"), stage(161, 5, 4, "driver router:out"),
		thread(200, 300, 11, ""), stage(210, 12, 5, "qdisc dut:out"), stage(211, 12, 6, "qdisc dut:out"), // 12 ran, and its switch was not recorded
		stage(310, 11, 5, "qdisc dut:out"), stage(311, 11, 6, "qdisc dut:out"),
	})
	want := []Carrier{
		{TID: 5, Sleeps: true, RanNs: 50},
		{TID: 7, Node: "dut", Sends: true, Woken: true, Sleeps: true, RanNs: 50},
		{TID: 8, Node: "dut"},
		{TID: 9, Sleeps: true, RanNs: 100},
		{TID: 11, RanNs: 100},
	}
	seen := slices.DeleteFunc(got, func(c Carrier) bool { return c == Carrier{TID: c.TID} })
	if !slices.Equal(seen, want) {
		t.Errorf("%+v", got)
	}
}
