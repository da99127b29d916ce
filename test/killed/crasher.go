package killed

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// Crasher runs a nines that kills itself at the n-th fault point (package fault).
type Crasher struct {
	T     *testing.T
	Nines string // the program, built with fault points
	// Whole is the file of a lab, and Changed one that changes it.
	Whole, Changed string
	// StateDir is where the lab's state is, and Prefix how the names of its devices begin: by these Gone finds what is left.
	StateDir, Prefix string
	// FurtherKinds leaves kinds of steps, in the short form, to the tests of the same verb before.
	FurtherKinds bool
	// Before is done, too, before what is killed, after what the test begins with; nil: nothing.
	Before []string
}

// killedKinds are the kinds of steps at which each verb was killed.
var killedKinds = map[string]map[string]bool{}

// New is for a lab and for one that changes it, by their texts. The test has a state folder (labtest.Experiment).
func New(t *testing.T, whole, changed string) *Crasher {
	t.Helper()
	dir := t.TempDir()
	c := &Crasher{
		T: t, Nines: labtest.Nines(t, "faultpoint"), Whole: filepath.Join(dir, "whole.yaml"), Changed: filepath.Join(dir, "changed.yaml"),
		StateDir: os.Getenv("NINES_STATE_DIR"), Prefix: labs.Plan(t, whole).Prefix,
	}
	for path, text := range map[string]string{c.Whole: whole, c.Changed: changed} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Run runs nines with a fault at the n-th point, or none if n is 0, and returns
// whether it was killed. Any other failure ends the test.
func (c *Crasher) Run(n int, arguments ...string) (killed bool, output string) {
	c.T.Helper()
	cmd := exec.Command(c.Nines, arguments...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("NINES_FAULT_AT=%d", n))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true, out.String()
	}
	// A lab that was killed before it began to exist, or after it was removed, is not found.
	if err != nil && !strings.Contains(out.String(), "does not exist") && !labtest.NoneValid(out.String()) {
		c.T.Fatalf("nines %s, fault %d: %v: %s", strings.Join(arguments, " "), n, err, out.String())
	}
	return false, out.String()
}

// Gone fails the test if anything of the lab is left.
func (c *Crasher) Gone(what string) {
	c.T.Helper()
	if left := traces.Left(c.T, c.Prefix, c.StateDir); len(left) > 0 {
		c.T.Fatalf("%s: left behind:\n%s", what, strings.Join(left, "\n"))
	}
}

// Killed kills a command at its fault points: in the long form at each, or at each every-th, and
// otherwise at one for each kind of step. It runs first before each kill, and calls after with the
// result, finally for a command that was not killed.
func (c *Crasher) Killed(every int, first, command []string, after func(n int, killed bool, said string)) {
	c.T.Helper()
	prepare := func() {
		for _, command := range [][]string{first, c.Before} {
			if command != nil {
				c.Run(0, command...)
			}
		}
	}
	if labtest.Long() {
		for n, killed := 1, true; killed; n += every {
			prepare()
			var said string
			killed, said = c.Run(n, command...)
			after(n, killed, said)
		}
		return
	}
	prepare()
	passed, said := c.points(command)
	after(0, false, said)
	verb := command[0]
	if killedKinds[verb] == nil {
		killedKinds[verb] = map[string]bool{}
	}
	known := killedKinds[verb]
	if !c.FurtherKinds {
		known = map[string]bool{}
	}
	points := labtest.KillPoints(passed, known)
	maps.Copy(killedKinds[verb], known)
	c.T.Logf("%d of %d points", len(points), len(passed))
	for _, n := range points {
		prepare()
		killed, said := c.Run(n, command...)
		after(n, killed, said)
	}
}

// points runs a command that nobody kills, and returns its fault points and what it said.
func (c *Crasher) points(command []string) (passed []string, said string) {
	c.T.Helper()
	passed = labtest.PassedPoints(c.T, func() { _, said = c.Run(0, command...) })
	return passed, said
}
