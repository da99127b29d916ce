package measure

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestScriptsInAVirtualMachine: the measurement of pos, with the device under test in a guest, and what ends with a
// script there.
//
//	loadgen:eth ──wire, a tap── dut:eth
func TestScriptsInAVirtualMachine(t *testing.T) {
	labtest.Experiment(t)
	_, err := exec.LookPath("qemu-system-x86_64")
	labtest.Require(t, "qemu-system-x86_64 (make setup-vm)", err == nil)
	_, err = os.Stat("/dev/net/tun")
	labtest.Require(t, "/dev/net/tun", err == nil)
	network := strings.Replace(strings.Replace(posNetwork, "%s", "netns", 1), "%s", "vm\n      vm: {acceleration: tcg}", 1)
	network = strings.Replace(network, "timeout: 2m", "timeout: 10m", 1)
	r, err := runScripts(context.Background(), t, "tmposvm", network, map[string]string{"loadgen.sh": posLoadgen, "dut.sh": posDUT +
		"head -c 1000000 /dev/zero > /tmp/large\npos_upload /tmp/large\n" + // more than a stream's window
		"[ \"$(nines-node get-variable hostname)\" = dut ] || exit 9\n" + // where nines' own program has that name
		"if ps | grep '[s]leep 98765'; then exit 8; fi\nsleep 98765 &\n"}) // of the trial before
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Summary.Trials) != 2 {
		t.Fatalf("there are %d trials", len(r.Summary.Trials))
	}
	for i, trial := range r.Summary.Trials {
		rate := []string{"1", "5"}[i]
		if trial.Verdict != result.Unmeasured {
			t.Errorf("trial %s is %s: %q: %s", trial.ID, trial.Verdict, trial.Reasons, readResult(t, r, trial.ID, "dut", "stderr"))
		}
		if got := readResult(t, r, trial.ID, "loadgen", "uploads", "rate.csv"); got != rate+",100\n" {
			t.Errorf("trial %s uploaded %q", trial.ID, got)
		}
		if got := readResult(t, r, trial.ID, "dut", "stdout") + readResult(t, r, trial.ID, "dut", "status") + readResult(t, r, trial.ID, "dut", "uploads", "wait.status"); got != "counted\n0\nkilled\n" {
			t.Errorf("trial %s: dut left %q", trial.ID, got)
		}
		if got := readResult(t, r, trial.ID, "dut", "uploads", "large"); len(got) != 1_000_000 {
			t.Errorf("trial %s: dut uploaded %d bytes", trial.ID, len(got))
		}
	}
	if got := readResult(t, r, "lab-0001", "setup", "dut", "stdout"); got != "ready\n" {
		t.Errorf("the setup said %q", got)
	}
}
