package gate

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestExitCodesOfADuet takes what a busy host cannot change: facts about the trial, and a trial that is too short for an
// interval.
func TestExitCodesOfADuet(t *testing.T) {
	labtest.Experiment(t)
	const holds, violated, undecided = "b.min > 0ns", "b.min > 1000s", "b.p99 <= 1.05 * a.p99"
	for _, c := range []struct {
		expected []string
		code     int
		decision string
	}{
		{[]string{holds}, exit.Done, "holds"},
		{[]string{holds, undecided}, exit.Undecided, "undecided"},
		{[]string{undecided, violated, holds}, exit.Violated, "violated"},
	} {
		arguments := []string{"duet", "--for", "200ms", "--out", t.TempDir(), "--format", "json", "--quiet"}
		for _, text := range c.expected {
			arguments = append(arguments, "--expect", text)
		}
		var command *exec.Cmd
		var output []byte
		var err error
		for range 5 { // a busy host may take the CPU for more than the traffic allows
			command = exec.Command(filepath.Join(labtest.Repository(), "bin", "nines"), arguments...)
			if output, err = command.Output(); !bytes.Contains(output, []byte("the trial is invalid")) {
				break
			}
		}
		var document struct {
			Expectations struct{ Decision string }
		}
		if code := command.ProcessState.ExitCode(); code != c.code {
			t.Fatalf("%q: exit code %d, want %d: %v\n%s", c.expected, code, c.code, err, output)
		}
		if err := json.Unmarshal(output, &document); err != nil || document.Expectations.Decision != c.decision {
			t.Errorf("%q: %v: %q, want %s", c.expected, err, document.Expectations.Decision, c.decision)
		}
	}
}
