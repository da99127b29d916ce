package labtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The exit codes of nines that Measure tells from one another.
const (
	done    = 0
	lacking = 3 // the host cannot do what is asked
)

// Measure runs an experiment by bin/nines, which has to end with an exit code, and reads its summary.json. A test whose host
// lacks something is left out, as by Require. Trials that a busy host made invalid are measured all the same.
func Measure(t testing.TB, summary any, code int, file string, arguments ...string) {
	t.Helper()
	out := t.TempDir()
	command := exec.CommandContext(t.Context(), filepath.Join(Repository(), "bin", "nines"), append([]string{"run", file, "--out", out}, arguments...)...)
	said, err := command.CombinedOutput()
	got := command.ProcessState.ExitCode()
	if got == lacking {
		Require(t, string(said), false)
	}
	if got != code && (code != done || !NoneValid(string(said))) {
		t.Fatalf("nines run: %v\n%s", err, said)
	}
	text, err := os.ReadFile(filepath.Join(out, "latest", "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, summary); err != nil {
		t.Fatal(err)
	}
}

// NoneValid reports whether nines ended with 1 because no trial is valid, which a host whose CPUs are busy does to short
// ones. It has measured all the same: tests of other things than verdicts take that for done.
func NoneValid(said string) bool { return strings.Contains(said, "no trial is valid") }
