package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestATrialOfEachTier measures the tiers that bypass the kernel, or a part of it, as the agent does: by nines
// itself, with the real programs. A host with two CPUs is busy with that, so no verdict is asked for.
func TestATrialOfEachTier(t *testing.T) {
	labtest.Root(t)
	labtest.Hugepages(t)
	labtest.Named(t, "agent") // the name of what an agent runs
	program, err := node.Program("nines")
	labtest.Require(t, "nines (make build)", err == nil)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	tiers, err := Tiers([]string{"veth", "xdp", "memif", "switch", "ovs-dpdk"})
	if err != nil {
		t.Fatal(err)
	}
	offered, missing := Offered(inventory, tiers, nil)
	for _, tier := range tiers {
		t.Run(tier.Name(), func(t *testing.T) {
			labtest.Require(t, missing[tier.Name()], missing[tier.Name()] == "")
			runner := Runner{Nines: program, Folder: t.TempDir()}
			load := Load{RatePPS: 500, FrameBytes: 64, Duration: time.Second}
			trial, err := runner.Run(t.Context(), tier, load)
			if err != nil {
				t.Fatal(err)
			}
			if trial.Tier != tier.Name() || trial.Load != load || trial.Peer != "" || trial.Latency == nil || trial.Latency.Count() == 0 || trial.Blocks.Total() != trial.Latency.Count() {
				t.Errorf("%+v", trial)
			}
			if left, _ := filepath.Glob(filepath.Join(os.Getenv("NINES_STATE_DIR"), "labs", "*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			if left, err := os.ReadDir(runner.Folder); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			t.Logf("%s: %d packets, p50 %d ns, %s %q", tier.Name(), trial.Latency.Count(), trial.Latency.Ranked(trial.Latency.Count()/2), trial.Verdict, trial.Reasons)
		})
	}
	if len(offered) == 0 {
		t.Error("no tier was measured")
	}
}

// TestAnInvalidTrialIsAVerdict: nines run fails if no trial is valid, and what it measured is there.
func TestAnInvalidTrialIsAVerdict(t *testing.T) {
	labtest.Root(t)
	labtest.Named(t, "agent")
	program, err := node.Program("nines")
	labtest.Require(t, "nines (make build)", err == nil)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	tiers, err := Tiers([]string{"veth"})
	if err != nil {
		t.Fatal(err)
	}
	// No engine sends so much, by a system call for each packet.
	trial, err := Runner{Nines: program, Folder: t.TempDir()}.Run(t.Context(), tiers[0], Load{RatePPS: 20_000_000, FrameBytes: 64, Duration: 200 * time.Millisecond})
	if err != nil || trial.Verdict != result.Invalid || len(trial.Reasons) == 0 {
		t.Errorf("%v, %s %q", err, trial.Verdict, trial.Reasons)
	}
}

// TestAFailedTrialSaysWhy: not how a run is resumed whose folder is gone.
func TestAFailedTrialSaysWhy(t *testing.T) {
	for output, want := range map[string]string{
		"warning: noisy\nnines: no switch\nwhat was measured is in r, and 'nines run --resume r' continues it\n": "no switch",
		"killed": "killed",
		"":       "",
	} {
		if got := reason(output); got != want {
			t.Errorf("%q: %q", output, got)
		}
	}
}
