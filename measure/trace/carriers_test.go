package trace

import (
	"slices"
	"testing"

	"nines.dev/nines/result"
)

// TestCarriers: a forwarder (7) that a packet wakes in a softirq, which has interrupted another thread (9), and that sends it
// on; a kernel that forwards in a softirq; and a missing switch.
func TestCarriers(t *testing.T) {
	thread := func(begin, end int64, tid int32, state string) result.Event {
		return result.Event{Kind: result.EventThread, BeginNs: begin, EndNs: end, CPU: 1, TID: tid, State: state}
	}
	stage := func(at int64, tid int32, name string) result.Event {
		return result.Event{Kind: result.EventStage, BeginNs: at, EndNs: at, CPU: 1, TID: tid, Name: name}
	}
	softirq := func(begin, end int64) result.Event {
		return result.Event{Kind: result.EventSoftirq, Name: "NET_RX", BeginNs: begin, EndNs: end, CPU: 1}
	}
	wake := func(at int64, tid int32) result.Event {
		return result.Event{Kind: result.EventWakeup, BeginNs: at, EndNs: at, CPU: 1, TID: tid}
	}
	got := Carriers([]result.Event{
		thread(0, 100, 9, "S"),
		softirq(10, 30), stage(11, 9, "stack dut:in"), wake(12, 7), stage(13, 9, "wake dut:in"),
		softirq(40, 60), stage(41, 9, "stack router:in"), stage(45, 9, "qdisc router:out"),
		thread(100, 150, 7, "S"), stage(110, 7, "read dut:in"), stage(120, 7, "qdisc dut:out"), stage(121, 7, "driver dut:out"),
		wake(130, 8),
		thread(150, 300, 11, ""), stage(200, 12, "qdisc dut:out"), // 12 ran, and its switch was not recorded
		stage(310, 11, "qdisc dut:out"),
	})
	want := []Carrier{
		{TID: 7, Node: "dut", Sends: true, Woken: true, Sleeps: true, RanNs: 50},
		{TID: 9, Sleeps: true, RanNs: 100},
		{TID: 11, RanNs: 150},
	}
	seen := slices.DeleteFunc(got, func(c Carrier) bool { return c == Carrier{TID: c.TID} })
	if !slices.Equal(seen, want) {
		t.Errorf("%+v", got)
	}
}
