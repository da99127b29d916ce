package dryrun

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The dry run names each interface, its receive mode and its CPUs.
func TestReceiveSteps(t *testing.T) {
	n := plan.Node{Name: "dut", Interfaces: []plan.Interface{
		{Name: "a", RX: spec.ReceiveBusyPoll}, {Name: "b", RX: spec.ReceiveThreaded}, {Name: "c", RX: spec.ReceiveAwake}, {Name: "d", RX: spec.ReceiveSuspend}, {Name: "e"},
	}, Receive: &plan.Receive{CPUs: []int{2, 3}, AwakeCPUs: []int{1}, Mechanism: spec.PollAuto, Polling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 5}}}
	var steps []string
	receiveSteps(func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }, n)
	all := strings.Join(steps, "\n")
	for _, want := range []string{"dut: a: ", "on CPUs 2-3, scheduled as fifo 5", "dut: b: ", "threaded NAPI, its threads on CPUs 2-3", "keep CPUs 1 awake, for c", "dut: d: "} {
		if !strings.Contains(all, want) {
			t.Errorf("the steps do not say %q:\n%s", want, all)
		}
	}
	if len(steps) != 4 {
		t.Errorf("%d steps:\n%s", len(steps), all)
	}
}
