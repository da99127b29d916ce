package measure

import (
	"slices"
	"testing"

	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// TestThreadsThatCarryPackets: of a process that sends, the threads that packets wake belong to it; a process that only
// reads them, such as a capture, keeps nothing from going on.
func TestThreadsThatCarryPackets(t *testing.T) {
	processes := map[int]trace.Thread{
		11: {PID: 10, TID: 11, Name: "reader", CPU: 2}, 12: {PID: 10, TID: 12, Name: "writer", CPU: -1}, 13: {PID: 10, TID: 13, Name: "log", CPU: -1},
		21: {PID: 20, TID: 21, Name: "tcpdump", CPU: -1},
	}
	got := carrying([]trace.Carrier{
		{TID: 11, Node: "dut", Woken: true, Sleeps: true}, {TID: 12, Node: "dut", Sends: true}, {TID: 13, RanNs: 5, Sleeps: true},
		{TID: 21, Node: "dut", Woken: true, Sleeps: true}, {TID: 31, Node: "dut", Sends: true},
	}, func(c trace.Carrier) (trace.Thread, bool) { thread, known := processes[c.TID]; return thread, known })
	want := []result.TracedThread{
		{Role: result.RoleService, Node: "dut", Name: "reader", PID: 10, TID: 11, CPU: 2},
		{Role: result.RoleService, Node: "dut", Name: "writer", PID: 10, TID: 12, CPU: -1, Spins: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestThreadsThatPoll: of a program whose packets the kernel does not see.
func TestThreadsThatPoll(t *testing.T) {
	programs := []trace.Thread{{PID: 10, TID: 11, Name: "lcore-1", CPU: 2}, {PID: 10, TID: 12, Name: "main", CPU: -1}, {PID: 10, TID: 13, Name: "brief", CPU: -1}, {PID: 10, TID: 14, Name: "lcore-2", CPU: 3}}
	got := polling([]trace.Carrier{
		{TID: 11, RanNs: 300}, {TID: 12, RanNs: 900, Sleeps: true}, {TID: 13, RanNs: 10}, {TID: 99, RanNs: 900},
	}, "dut", programs, map[int]bool{12: false, 14: true}, 1000)
	want := []result.TracedThread{
		{Role: result.RoleService, Node: "dut", Name: "lcore-1", PID: 10, TID: 11, CPU: 2, Spins: true},
		{Role: result.RoleService, Node: "dut", Name: "lcore-2", PID: 10, TID: 14, CPU: 3, Spins: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := polling([]trace.Carrier{{TID: 11}}, "dut", programs, nil, 0); len(got) > 0 {
		t.Errorf("of no time: %+v", got)
	}
}
