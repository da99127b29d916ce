package labtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// PassedPoints are the points of package fault that a program passes, which run runs.
func PassedPoints(t testing.TB, run func()) []string {
	t.Helper()
	list := filepath.Join(t.TempDir(), "points")
	t.Setenv("NINES_FAULT_LIST", list)
	run()
	_ = os.Unsetenv("NINES_FAULT_LIST") // t.Setenv restores it
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	passed := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(passed) < 2 {
		t.Fatalf("it passes few points: %s", text)
	}
	return passed
}

// Kills are the points at which a test kills what has passed these: in the long form all, otherwise those
// of KillPoints.
func Kills(passed []string, known map[string]bool) []int {
	if !Long() {
		return KillPoints(passed, known)
	}
	all := make([]int, len(passed))
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// KilledTest is a test of the package that is killed, in a process of its own.
type KilledTest struct {
	t             testing.TB
	program, name string
}

// NewKilledTest compiles the package's tests with fault points.
func NewKilledTest(t testing.TB, name string) KilledTest {
	t.Helper()
	program := filepath.Join(t.TempDir(), "killed.test")
	if out, err := Go("test", "-c", "-tags", "faultpoint", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build it with fault points: %v: %s", err, out)
	}
	return KilledTest{t, program, name}
}

// At runs the test with a fault at a point, or none if that is 0, and reports whether it was killed.
func (k KilledTest) At(point int, environment ...string) (killed bool) {
	k.t.Helper()
	command := exec.Command(k.program, "-test.run", "^"+k.name+"$")
	command.Env = append(append(os.Environ(), environment...), fmt.Sprint("NINES_FAULT_AT=", point))
	out, err := command.CombinedOutput()
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		k.t.Fatalf("%v: %s", err, out)
	}
	return false
}
