package enginetest

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// An engine that was started with a real-time policy gives it to the packet thread, and runs itself
// one priority above. Otherwise the packet thread, which spins on the same CPU here, would lock out
// the thread that receives the abort.
func TestRealTimePolicyIsForPackets(t *testing.T) {
	if out, err := exec.Command("chrt", "--fifo", "5", "true").CombinedOutput(); err != nil {
		labtest.Require(t, "real-time policies: "+string(out), false)
	}
	cmd := exec.Command("taskset", "--cpu-list", "0", "chrt", "--fifo", "5", labtest.EnginePath(t))
	engine := labtest.RunEngine(t, cmd).Client
	if _, err := engine.Hello(); err != nil {
		t.Fatal(err)
	}
	// taskset and chrt exec the command that they start.
	if got, err := unix.SchedGetAttr(cmd.Process.Pid, 0); err != nil || got.Policy != unix.SCHED_FIFO || got.Priority != 6 {
		t.Fatalf("the engine's first thread is %+v (%v), want SCHED_FIFO 6", got, err)
	}
	open(t, engine, client.Port{Name: "a", Backend: "memory", Interface: "loop0", Wait: "spin"})
	started := client.Events{Started: func(client.Started) {
		if err := engine.Abort(); err != nil {
			t.Error(err)
		}
	}}
	trial := client.Trial{Role: "loop", Streams: []client.Stream{{Tx: "a", Rx: "a", RatePPS: 1000, Pattern: "constant", Burst: 1}}, CPU: -1, DurationNs: 60e9}
	result, err := engine.Trial(trial, started)
	if err != nil {
		t.Fatal(err)
	}
	if !result.Interrupted || result.Scheduling != "SCHED_FIFO 5" {
		t.Errorf("interrupted %v, %s; want true, SCHED_FIFO 5", result.Interrupted, result.Scheduling)
	}
}
