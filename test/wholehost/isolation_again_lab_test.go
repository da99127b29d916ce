package wholehost

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// TestLabAnIsolatedLabComesAgain: what a lab has taken of the host for itself does not keep it from
// being changed, made again after its start was cut off, or measured again after a measurement was
// killed. The host has just enough CPUs for it.
func TestLabAnIsolatedLabComesAgain(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootV1, labtest.BootMain)
	labtest.Root(t)
	labs.NeedLXC(t)
	dir := t.TempDir()
	nines := func(wantCode int, words string, arguments ...string) {
		t.Helper()
		cmd := command(arguments...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != wantCode && !labtest.NoneValid(string(out)) || !strings.Contains(string(out), words) {
			t.Errorf("nines %v: %v, want %d and %q: %s", arguments, cmd.ProcessState, wantCode, words, out)
		}
	}
	before := traces.TakeSnapshot(t)
	for _, degree := range labtest.Cases(1, []spec.Isolation{spec.IsolationIsolated, spec.IsolationPartition}) {
		text := strings.NewReplacer("name: tbisolated", "name: tbagain", "isolation: isolated", "isolation: "+string(degree)).Replace(labs.Isolated) +
			"traffic: {from: \"gen:tx\", to: \"gen:tx\", rate_pps: 100, duration: 1s, backend: raw}\n"
		file := filepath.Join(dir, string(degree)+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nines(exit.Done, "", "up", file)
		nines(exit.Wrong, "is up already", "up", file)
		nines(exit.Done, "", "apply", file)
		breakIsolation(t)
		nines(exit.Failed, "control group", "check", "tbagain")
		nines(exit.Done, "", "apply", file)
		nines(exit.Done, "", "check", "tbagain")
		// A start that is killed before its last step leaves no settings.
		if err := os.Remove(state.Of("tbagain").Settings()); err != nil {
			t.Fatal(err)
		}
		nines(exit.Done, "", "up", file)
		nines(exit.Done, "", "down", "tbagain")

		run := command("run", file)
		run.Dir = dir
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		for !beingMeasured(t, "tbagain") || journalled("tbagain") < 20 {
			time.Sleep(50 * time.Millisecond)
		}
		_ = run.Process.Kill()
		_ = run.Wait()
		nines(exit.Done, "", "run", file)
		nines(exit.Wrong, "does not exist", "down", "tbagain")
		if changes := before.Changes(traces.TakeSnapshot(t)); len(changes) > 0 {
			t.Errorf("%s: the host has changed:\n%s", degree, strings.Join(changes, "\n"))
		}
	}
}

// breakIsolation has someone else take the CPUs of the lab's groups for all.
func breakIsolation(t *testing.T) {
	t.Helper()
	made, err := lab.Open("tbagain")
	if err != nil {
		t.Fatal(err)
	}
	now, err := isolate.Look(made.Plan())
	if err != nil || len(now.Groups) == 0 {
		t.Fatalf("%+v, %v", now, err)
	}
	file, value := "cpuset.cpu_exclusive", "0"
	if _, err := os.Stat(filepath.Join(now.Groups[0].Path, file)); err != nil {
		file, value = "cpuset.cpus.partition", "member"
	}
	if err := os.WriteFile(filepath.Join(now.Groups[0].Path, file), []byte(value), 0o644); err != nil {
		t.Fatal(err)
	}
}

// beingMeasured reports whether a measurement has a lab.
func beingMeasured(t *testing.T, name string) bool {
	t.Helper()
	all, err := lab.List()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(s lab.Status) bool { return s.Name == name && s.Condition == lab.ConditionMeasuring })
}

// journalled is the number of steps in a lab's journal.
func journalled(name string) int {
	u, _ := lab.WouldUndo(context.Background(), name)
	return len(u.Steps)
}
