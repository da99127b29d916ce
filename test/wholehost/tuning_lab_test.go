package wholehost

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// These tests tune the host by whole profiles. CPUs 2 and 3 are the chosen ones.

func TestLabProfilesAreTakenBackByteForByte(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootNew, labtest.BootMain, labtest.BootV1, labtest.BootIsolated, labtest.BootRT, labtest.BootNewRT)
	labtest.Root(t)
	for _, profile := range tune.ProfileNames() {
		t.Run(profile, func(t *testing.T) {
			before, files := wholeHost(t)
			nines(t, "tune", "apply", "--cpus", "2-3", "--profile", profile)
			var status tune.Status
			if err := json.Unmarshal([]byte(nines(t, "tune", "status", "--format", "json")), &status); err != nil {
				t.Fatal(err)
			}
			if len(status.Settings) < 2 {
				t.Errorf("only %d settings changed: %+v", len(status.Settings), status.Settings)
			}
			for _, s := range status.Settings {
				if s.Standing != tune.InForce {
					t.Errorf("%+v", s)
				}
			}
			for _, r := range status.Applied.Results {
				if r.Outcome == tune.Refused && r.Name != "irq-affinity" { // timers, per-CPU
					t.Errorf("%s: the kernel refuses %q: %s", r.Path, r.Value, r.Reason)
				}
				if r.Outcome == tune.Changed && r.Method == tune.Write {
					if now, err := setting.Read(r.Path); err != nil || !setting.Same(r.Path, now, r.Value) {
						t.Errorf("%s is %q (%v), want %q", r.Path, now, err, r.Value)
					}
				}
			}
			if profile != tune.Throughput {
				quiet(t, slices.ContainsFunc(status.Applied.Results, func(r tune.Result) bool {
					return r.Name == "cpu_dma_latency" && r.Outcome == tune.Changed // not without sleep states
				}))
			}
			nines(t, "tune", "revert")
			if changes := before.Changes(traces.TakeSnapshot(t)); len(changes) > 0 {
				t.Errorf("after revert:\n%s", strings.Join(changes, "\n"))
			}
			traces.SameTunable(t, files)
		})
	}
}

// quiet checks that unbound work and the lockup watchdog stay off the chosen CPUs.
func quiet(t *testing.T, held bool) {
	t.Helper()
	mask, err := setting.Read("/sys/devices/virtual/workqueue/cpumask")
	if err != nil || !setting.Same("cpumask", mask, "3") {
		t.Errorf("unbound work may run on %q (%v)", mask, err)
	}
	if watched, err := setting.Read("/proc/sys/kernel/watchdog_cpumask"); err == nil {
		soft, _ := setting.Read("/proc/sys/kernel/soft_watchdog")
		cpus, err := tasks.ParseSet(watched)
		if err != nil || soft == "1" && cpus.Meets(tasks.Set{2, 3}) {
			t.Errorf("the watchdog watches %q (%v)", watched, err)
		}
	}
	if !held {
		return
	}
	latency, err := exec.Command("od", "-An", "-td4", "/dev/cpu_dma_latency").Output()
	if err != nil || strings.TrimSpace(string(latency)) == "2000000000" {
		t.Errorf("nobody holds /dev/cpu_dma_latency: %s, %v", latency, err)
	}
}

// An apply is killed a few times, and more often if no kill met it while it changed the host. Each
// takes some seconds without KVM, and makes the kernel rewrite its own code (static keys, such as
// that of timer migration), which QEMU's TCG does not always survive: Linux 6.12 crashed in
// hrtimer_start_range_ns on a breakpoint that had been removed. So there are few kills, in one boot.
func TestLabTuneKilledAnywhere(t *testing.T) {
	labtest.Guarantee(t)
	labtest.VirtualLab(t, labtest.BootMain)
	labtest.Root(t)
	kills := 3
	if labtest.Long() {
		kills = 8
	}
	before, files := wholeHost(t)
	apply := []string{"tune", "apply", "--cpus", "2-3", "--profile", "realtime"}
	begun := time.Now()
	nines(t, apply...)
	moments := moments{to: time.Since(begun)}
	nines(t, "tune", "revert")
	cycle := 0
	for ; !moments.enough(cycle, kills); cycle++ {
		after := moments.kill(t, command(apply...), func() bool { return len(before.Changes(traces.TakeSnapshot(t))) > 0 })
		nines(t, "tune", "revert")
		changes := before.Changes(traces.TakeSnapshot(t))
		traces.SameTunable(t, files)
		if len(changes) > 0 || t.Failed() {
			t.Fatalf("cycle %d, killed after %v:\n%s", cycle, after, strings.Join(changes, "\n"))
		}
	}
	moments.report(t, cycle)
}

// Host tuning and a lab's isolation move the same interrupts and workqueues, and may end in any
// order: the settings of the one that remains stay in force, and at the end the host has its own
// values.
func TestLabTuneAndIsolationGoInAnyOrder(t *testing.T) {
	labtest.LongForm(t) // TestLabIsolationAndTuningTogether has one order
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootV1, labtest.BootNew)
	labtest.Root(t)
	labs.NeedLXC(t)
	before, files := wholeHost(t)
	tuneHost := func() { nines(t, "tune", "apply", "--cpus", "2-3", "--profile", "realtime") }
	revert := func() { nines(t, "tune", "revert") }
	file := isolatedLab(t, "")
	t.Cleanup(func() { gone(t, "tbalone") })
	isolate := func() { nines(t, "up", file) }
	down := func() { nines(t, "down", "tbalone") }
	for _, order := range []struct {
		name                       string
		first, second, third, last func()
	}{
		{"tune goes under a lab", tuneHost, isolate, revert, down},
		{"a lab goes under tune", isolate, tuneHost, down, revert},
	} {
		t.Run(order.name, func(t *testing.T) {
			order.first()
			order.second()
			order.third()
			// The settings of the one that remains are in force.
			labs.CheckInterrupts(t, tasks.Set{2, 3})
			mask, err := setting.Read("/sys/devices/virtual/workqueue/cpumask")
			if err != nil || !setting.Same("cpumask", mask, "3") {
				t.Errorf("unbound work may run on %q (%v)", mask, err)
			}
			order.last()
			if changes := before.Changes(traces.TakeSnapshot(t)); len(changes) > 0 {
				t.Errorf("at the end:\n%s", strings.Join(changes, "\n"))
			}
			traces.SameTunable(t, files)
			if _, err := os.Stat(setting.HostLedger); err == nil {
				t.Error("the ledger of settings is left")
			}
		})
	}
}
