package measure

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/lab/receive"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Packets pass the receiving threads, each of which is listed once; not those that keep CPUs awake,
// nor one that has ended.
func TestPollersAreTraced(t *testing.T) {
	states := []receive.State{
		{Node: "gen", Interface: "tx", RX: spec.ReceiveBusyPoll, Threads: []receive.Thread{{TID: 11}, {TID: 12}}},
		{Node: "gen", Interface: "rx", RX: spec.ReceiveBusyPoll, Threads: []receive.Thread{{TID: 11}}},
		{Node: "dut", Interface: "in", RX: spec.ReceiveThreaded, Threads: []receive.Thread{{TID: 13}, {TID: 14}}},
		{Node: "dut", Interface: "out", RX: spec.ReceiveAwake, Threads: []receive.Thread{{TID: 15}}},
	}
	threads := map[int]trace.Thread{
		11: {PID: 10, TID: 11, Name: "iou-sqp-10", CPU: 1}, 12: {PID: 10, TID: 12, Name: "iou-sqp-10", CPU: 2},
		13: {PID: 13, TID: 13, Name: "napi/in-0", CPU: -1}, 15: {PID: 15, TID: 15, Name: "nines-poller", CPU: 3},
	}
	threadOf := func(tid int) (trace.Thread, bool) { thread, ok := threads[tid]; return thread, ok }
	got := pollers(states, nil, threadOf)
	want := []result.TracedThread{
		{Role: result.RolePoller, Node: "gen", Name: "iou-sqp-10", PID: 10, TID: 11, CPU: 1},
		{Role: result.RolePoller, Node: "gen", Name: "iou-sqp-10", PID: 10, TID: 12, CPU: 2},
		{Role: result.RolePoller, Node: "dut", Name: "napi/in-0", PID: 13, TID: 13, CPU: -1},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// After the trial, one thread has been replaced, and the replacement of the other has ended;
	// both have received.
	states[0].Threads = []receive.Thread{{TID: 21, CPUs: []int{1}}, {TID: 22, CPUs: []int{2}}}
	states[1].Threads = states[0].Threads[:1]
	threads[21] = trace.Thread{PID: 10, TID: 21, Name: "iou-sqp-10", CPU: 1}
	further := []result.TracedThread{
		{Role: result.RolePoller, Node: "gen", Name: "iou-sqp-10", PID: 10, TID: 21, CPU: 1},
		{Role: result.RolePoller, Node: "gen", Name: "iou-sqp-10", PID: 10, TID: 22, CPU: 2},
	}
	if got := pollers(states, got, threadOf); !slices.Equal(got, further) {
		t.Errorf("afterwards %+v, want %+v", got, further)
	}
}

// Virtual machines are reported as not recorded, even one that only routes.
func TestVirtualMachinesAreSaidNotToBeRecorded(t *testing.T) {
	p := &plan.Plan{Nodes: []plan.Node{{Name: "gen", Runtime: spec.RuntimeNetns}, {Name: "dut", Runtime: spec.RuntimeVM}}, Traffic: &plan.Traffic{}}
	p.Traffic.From.Node = "gen"
	names := virtualMachines(p)
	if !slices.Equal(names, []string{"dut"}) {
		t.Fatalf("the virtual machines are %q", names)
	}
	if said := unseen(p, "dut"); !strings.Contains(said, "stays unexplained") {
		t.Errorf("of a forwarder: %s", said)
	}
	p.Traffic.From.Node = "dut"
	if said := unseen(p, "dut"); !strings.Contains(said, "none can be explained") {
		t.Errorf("of both ends: %s", said)
	}
}
