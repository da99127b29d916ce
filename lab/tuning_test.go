package lab

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labtest"
)

// Labs that tune the host they run on. These tests use the profile throughput, which changes when
// dirty memory is written to disk and who gets transparent hugepages, and undo it at once; other
// profiles are tested in the virtual laboratory.
//
//	a:v ──veth── b:v
const tunedLab = `
name: tbtune
tuning: throughput
topology:
  nodes: {a: {}, b: {}}
  links: [{name: v, endpoints: ["a:v", "b:v"]}]
`

// hostSettings are the files that any profile may write, as they are now.
func hostSettings(t *testing.T) map[string]string {
	t.Helper()
	labtest.WholeHost(t)
	inv, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range tune.ProfileNames() {
		profile, _ := tune.BuiltIn(name)
		for _, s := range tune.Settings(inv, []int{0, 1}, profile) {
			if s.Method != tune.Write {
				continue
			}
			if text, err := os.ReadFile(s.Path); err == nil {
				files[s.Path] = string(text)
			}
		}
	}
	if len(files) < 10 {
		t.Fatalf("only %d settings could be read", len(files))
	}
	return files
}

func sameSettings(t *testing.T, before map[string]string) {
	t.Helper()
	for path, was := range before {
		if text, err := os.ReadFile(path); err != nil || string(text) != was {
			t.Errorf("%s is %q (%v), was %q", path, text, err, was)
		}
	}
}

func TestALabTunesTheHostWhileItIsUp(t *testing.T) {
	labtest.Root(t)
	before := hostSettings(t)
	lab := up(t, tunedLab)
	in, err := lab.Inspect(context.Background())
	if err != nil || in.Tuning == nil {
		t.Fatalf("%+v, %v", in, err)
	}
	if in.Tuning.Profile != "throughput" || len(in.Tuning.Settings) == 0 {
		t.Errorf("%+v", in.Tuning)
	}
	for _, s := range in.Tuning.Settings {
		if s.Standing != tune.InForce || strings.TrimSpace(before[s.Path]) == s.Set {
			t.Errorf("%+v", s)
		}
	}
	other := strings.NewReplacer("tbtune", "tbtunetoo").Replace(tunedLab)
	_, err = Up(context.Background(), UpOptions{Plan: planOf(t, other), Experiment: []byte(other)})
	if err == nil || !strings.Contains(err.Error(), `lab "tbtune" holds this host's settings`) {
		t.Errorf("a second lab: %v", err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameSettings(t, before)
	if holder, err := tune.Holder(state.Root()); holder != "" || err != nil {
		t.Errorf("still held by %q, %v", holder, err)
	}
}

func TestApplyChangesTheHostsTuning(t *testing.T) {
	labtest.Root(t)
	before := hostSettings(t)
	lab := up(t, tunedLab)
	untuned := strings.Replace(tunedLab, "tuning: throughput\n", "", 1)
	change := func(text string) {
		t.Helper()
		changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: planOf(t, text), Experiment: []byte(text)})
		if err != nil || !changes.Tuning {
			t.Fatalf("%+v, %v", changes, err)
		}
	}
	change(untuned)
	sameSettings(t, before)
	if holder, err := tune.Holder(state.Root()); holder != "" || err != nil {
		t.Errorf("still held by %q, %v", holder, err)
	}
	change(tunedLab)
	state, err := lab.TuningNow()
	if err != nil || state == nil || len(state.Settings) == 0 {
		t.Errorf("%+v, %v", state, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameSettings(t, before)
}

func TestTheHostsTuningIsPlannedAndListed(t *testing.T) {
	p := planOf(t, tunedLab)
	if p.Tuning != "throughput" {
		t.Errorf("the plan's tuning: %q", p.Tuning)
	}
	if steps := strings.Join(dryrun.Steps(p), "\n"); !strings.Contains(steps, "host: settings of the profile throughput") {
		t.Errorf("the steps do not say it:\n%s", steps)
	}
	none := planOf(t, strings.Replace(tunedLab, "throughput", "none", 1))
	if steps := strings.Join(dryrun.Steps(none), "\n"); strings.Contains(steps, "host: settings") || none.Tuning != "" {
		t.Errorf("tuning: none is %q in the plan:\n%s", none.Tuning, steps)
	}
}

// TestATuningThatOthersUndidIsSetAgain: check, ls and apply see it.
func TestATuningThatOthersUndidIsSetAgain(t *testing.T) {
	labtest.Root(t)
	before := hostSettings(t)
	lab := up(t, tunedLab)
	tuned, err := lab.TuningNow()
	if err != nil || len(tuned.Settings) == 0 {
		t.Fatalf("%+v, %v", tuned, err)
	}
	if faults := statusOf(lab.Name()).Faults; len(faults) > 0 {
		t.Errorf("before: %q", faults)
	}
	undone := tuned.Settings[0]
	if err := setting.Write(undone.Path, undone.Old); err != nil {
		t.Fatal(err)
	}
	if faults := statusOf(lab.Name()).Faults; len(faults) != 1 || !strings.Contains(faults[0], undone.Path) {
		t.Errorf("the list of labs has the faults %q", faults)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("a trial would lose its network over it: %v, %v", faults, err)
	}
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: planOf(t, tunedLab), Experiment: []byte(tunedLab)})
	if err != nil || !changes.Tuning || len(changes.ReplacedNodes)+len(changes.AddedNodes) > 0 {
		t.Fatalf("%+v, %v", changes, err)
	}
	if bad, err := check.Untuned(lab.Lab); bad != nil || err != nil {
		t.Errorf("after apply: %v, %v", bad, err)
	}
	if err := lab.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	sameSettings(t, before)
}

// A lab with tuning whose up is killed at any step leaves no setting behind.
func TestATunedLabKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	before := hostSettings(t)
	c := newCrasherOf(t, tunedLab, tunedLab)
	c.killed(1, nil, []string{"up", c.whole}, func(_ int, _ bool, said string) {
		c.run(0, "down", "tbtune")
		c.gone("up killed at " + said)
		sameSettings(t, before)
		if t.Failed() {
			t.Fatalf("after %s", said)
		}
	})
}

// nines tune apply is killed at every step, and the revert after it at one step.
func TestTuneKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Root(t)
	before := hostSettings(t)
	c := newCrasherOf(t, tunedLab, tunedLab)
	profile := filepath.Join(t.TempDir(), "small.yaml")
	text := "settings: {vm.stat_interval: 7, vm.swappiness: 55, cpu_dma_latency: 1000}\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.killed(1, nil, []string{"tune", "apply", "--file", profile}, func(n int, _ bool, said string) {
		c.run(n/2, "tune", "revert")
		c.run(0, "tune", "revert")
		sameSettings(t, before)
		left, err := os.ReadDir(c.stateDir)
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
	labtest.Root(t)
	before := hostSettings(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	c := newCrasherOf(t, tunedLab, tunedLab)
	profile := filepath.Join(t.TempDir(), "small.yaml")
	text := "settings: {vm.stat_interval: 7, vm.swappiness: 55, cpu_dma_latency: 1000}\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	labtest.UndoErrors(t, labtest.Undone{
		Make: func() { c.run(0, "tune", "apply", "--file", profile) },
		Undo: func(environment, under []string) (int, string) {
			return c.try(environment, append(under, c.binary, "tune", "revert")...)
		},
		Gone: func(what string) {
			sameSettings(t, before)
			left, err := os.ReadDir(c.stateDir)
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
