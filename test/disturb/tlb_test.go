package disturb

import (
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
	before := counted(t, "/proc/interrupts", "TLB", cpu)
	list, _ := disturb(t, 20, 10*time.Millisecond, "--kind", "tlb", "--pid", strconv.Itoa(spinner.Process.Pid))
	rose, did := counted(t, "/proc/interrupts", "TLB", cpu)-before, total(list, events)
	if did < 50 || rose < did/50 { // the process is only interrupted while it runs
		t.Errorf("TLB of CPU %d rose by %d, for %d flushes", cpu, rose, did)
	}
}
