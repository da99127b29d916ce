package killed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// tunedLab is labs.Tuned with a name of its own.
var tunedLab = strings.Replace(labs.Tuned, "name: tbtune", "name: tbcrashtune", 1)

// A lab with tuning whose up is killed at any step leaves no setting behind.
func TestATunedLabKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	before := traces.Tunable(t)
	c := New(t, tunedLab, tunedLab)
	c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, _ bool, said string) {
		c.Run(0, "down", "tbcrashtune")
		c.Gone("up killed at " + said)
		traces.SameTunable(t, before)
		if t.Failed() {
			t.Fatalf("after %s", said)
		}
	})
}

// nines tune apply is killed at every step, and the revert after it at one step.
func TestTuneKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	before := traces.Tunable(t)
	c := New(t, tunedLab, tunedLab)
	profile := filepath.Join(t.TempDir(), "small.yaml")
	text := "settings: {vm.stat_interval: 7, vm.swappiness: 55, cpu_dma_latency: 1000}\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Killed(1, nil, []string{"tune", "apply", "--file", profile}, func(n int, _ bool, said string) {
		c.Run(n/2, "tune", "revert")
		c.Run(0, "tune", "revert")
		traces.SameTunable(t, before)
		left, err := os.ReadDir(c.StateDir)
		if err != nil || len(left) != 1 || left[0].Name() != "tune.lock" {
			t.Errorf("left in the state folder: %v, %v", left, err)
		}
		if held := holders(t); len(held) > 0 {
			t.Errorf("still held by %v", held)
		}
		if t.Failed() {
			t.Fatalf("after %s", said)
		}
	})
}

// TestRevertGoesOnAfterErrors: what nines tune apply has changed comes back, though steps of revert fail.
func TestRevertGoesOnAfterErrors(t *testing.T) {
	labtest.Experiment(t)
	before := traces.Tunable(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	c := New(t, tunedLab, tunedLab)
	profile := filepath.Join(t.TempDir(), "small.yaml")
	text := "settings: {vm.stat_interval: 7, vm.swappiness: 55, cpu_dma_latency: 1000}\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	labtest.UndoErrors(t, labtest.Undone{
		Make: func() { c.Run(0, "tune", "apply", "--file", profile) },
		Undo: func(environment, under []string) (int, string) {
			return c.try(environment, append(under, c.Nines, "tune", "revert")...)
		},
		Gone: func(what string) {
			traces.SameTunable(t, before)
			left, err := os.ReadDir(c.StateDir)
			if held := holders(t); err != nil || len(left) != 1 || left[0].Name() != "tune.lock" || len(held) > 0 {
				t.Errorf("left in the state folder: %v, %v; still held by %v", left, err, held)
			}
			if t.Failed() {
				t.Fatal(what)
			}
		},
		Steps: 3,
		// Where CPUs have no sleep states, the kernel needs no process that limits them.
		Processless: inventory.CPUIdle.Driver == "",
	})
}

// holders are processes that hold a setting for a session of nines tune.
func holders(t *testing.T) []string {
	t.Helper()
	var found []string
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if words := strings.Split(string(text), "\x00"); err == nil && len(words) > 3 && words[1] == "hold" && strings.HasPrefix(words[2], "nines-tune-") {
			found = append(found, file)
		}
	}
	return found
}
