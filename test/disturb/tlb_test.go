package disturb

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"nines.dev/nines/test/labtest"
)

// A shootdown aimed at a process interrupts the CPU that it runs on.
func TestShootsAtAProcess(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	cpu := lastCPU(t)
	spinner, _ := started(t, "--kind", "spin", "--cpu", strconv.Itoa(cpu), "--length", "1000s", "--period", "1000s")
	defer ends(t, spinner)
	before, began, ran := counted(t, "/proc/interrupts", "TLB", cpu), time.Now(), ranFor(t, spinner.Process.Pid)
	list, _ := disturb(t, 20, 10*time.Millisecond, "--kind", "tlb", "--pid", strconv.Itoa(spinner.Process.Pid))
	rose, did := counted(t, "/proc/interrupts", "TLB", cpu)-before, total(list, events)
	// The process is only interrupted while it runs, which on a busy host it does for a part of the time.
	share := float64(ranFor(t, spinner.Process.Pid)-ran) / float64(time.Since(began))
	if did < 50 || float64(rose) < float64(did)*share/50 {
		t.Errorf("TLB of CPU %d rose by %d, for %d flushes, while the process ran for %.0f %% of the time", cpu, rose, did, 100*share)
	}
}

// ranFor is how long the first thread of a process has had a CPU (Documentation/scheduler/sched-stats.rst).
func ranFor(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var ran time.Duration
	if _, err := fmt.Sscan(string(text), &ran); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return ran
}
