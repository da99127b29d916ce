package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestLabAnIsolatedLabComesAgain: what a lab has taken of the host for itself does not keep it from
// being changed, made again after its start was cut off, or measured again after a measurement was
// killed. The host has just enough CPUs for it.
func TestLabAnIsolatedLabComesAgain(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootV1, labtest.BootMain)
	labtest.Root(t)
	lxc(t)
	dir := t.TempDir()
	nines := func(wantCode int, words string, arguments ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), arguments...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != wantCode || !strings.Contains(string(out), words) {
			t.Errorf("nines %v: %v, want %d and %q: %s", arguments, cmd.ProcessState, wantCode, words, out)
		}
	}
	before := takeSnapshot(t)
	for _, degree := range labtest.Cases(1, []spec.Isolation{spec.IsolationIsolated, spec.IsolationPartition}) {
		text := strings.Replace(isolatedLab, "isolation: isolated", "isolation: "+string(degree), 1) +
			"traffic: {from: \"gen:tx\", to: \"gen:tx\", rate_pps: 100, duration: 1s, backend: raw}\n"
		file := filepath.Join(dir, string(degree)+".yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nines(exit.Done, "", "up", file)
		nines(exit.Wrong, "is up already", "up", file)
		nines(exit.Done, "", "apply", file)
		breakIsolation(t)
		nines(exit.Failed, "control group", "check", "tbisolated")
		nines(exit.Done, "", "apply", file)
		nines(exit.Done, "", "check", "tbisolated")
		// A start that is killed before its last step leaves no settings.
		if err := os.Remove(state.Of("tbisolated").Settings()); err != nil {
			t.Fatal(err)
		}
		nines(exit.Done, "", "up", file)
		nines(exit.Done, "", "down", "tbisolated")

		run := exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), "run", file)
		run.Dir = dir
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		for statusOf("tbisolated").Condition != ConditionMeasuring || journalled("tbisolated") < 20 {
			time.Sleep(50 * time.Millisecond)
		}
		_ = run.Process.Kill()
		_ = run.Wait()
		nines(exit.Done, "", "run", file)
		nines(exit.Wrong, "does not exist", "down", "tbisolated")
		if changes := before.changes(takeSnapshot(t)); len(changes) > 0 {
			t.Errorf("%s: the host has changed:\n%s", degree, strings.Join(changes, "\n"))
		}
	}
}

// breakIsolation has someone else take the CPUs of the lab's groups for all.
func breakIsolation(t *testing.T) {
	t.Helper()
	lab, err := Open("tbisolated")
	if err != nil {
		t.Fatal(err)
	}
	now, err := isolate.Look(lab.Plan())
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

// journalled is the number of steps in a lab's journal.
func journalled(name string) int {
	steps, _ := Undoing(name)
	return len(steps)
}
