package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/test/events"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/vm/boots"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestagent"
	"nines.dev/nines/vm/guestimage"
	"nines.dev/nines/vm/vlab"
)

// session is the tests of one boot, in as many machines as it takes.
type session struct {
	repository string
	store      guestimage.Store
	boot       boots.Boot
	lab        *vlab.Laboratory
	restarts   int // how often another machine had to be started
	failed     []failedTest
	second     bool // what failed is being run once more
	rows       []row
	notes      []string
}

// mostRestarts is how many machines may stand still or be ended by QEMU, of one boot.
const mostRestarts = 2

// start starts the machine, and another one where the last did not go on.
func (s *session) start(t *testing.T) {
	t.Helper()
	if s.lab != nil {
		_ = s.lab.Stop() // it stands still, and is killed
		s.lab = nil
	}
	begin := time.Now()
	lab, err := startLaboratory(t.Context(), s.repository, s.store, s.boot)
	if err != nil {
		t.Error(err)
		return
	}
	s.lab = lab
	s.rows = append(s.rows, row{"boots", "vm", s.kernel(), "pass", time.Since(begin).Seconds()})
}

func (s *session) kernel() string {
	if s.lab == nil {
		return s.boot.Name
	}
	return s.boot.Name + ": Linux " + s.lab.Kernel.Version
}

// run runs tests of a package in the laboratory. Each becomes a subtest here, as soon as
// it has ended there. Those that a machine has left undone run in another one.
func (s *session) run(t *testing.T, p labPackage, names []string) {
	for len(names) > 0 {
		if s.lab == nil { // another one that was needed has not come up
			s.fail(t, p, names)
			return
		}
		left, console, err := s.runIn(t, p, names)
		if err == nil {
			return
		}
		ofItself := errors.Is(err, errStoodStill) || s.lab.Choice.Accelerator == vm.TCG && vm.StaleCode(console)
		switch {
		case ofItself && s.restarts < mostRestarts:
			s.restarts++
		case len(left) == len(names) && !errors.Is(err, errStuck): // it can run none of them
			t.Errorf("boot %s: %v\nthe console:\n%s", s.boot.Name, err, console)
			s.fail(t, p, left)
			left = nil
		case len(left) > 0: // they run in the order of their names here
			t.Errorf("boot %s: %v\nthe console:\n%s", s.boot.Name, err, console)
			s.fail(t, p, left[:1])
			left = left[1:]
		default:
			t.Errorf("boot %s, after the last test: %v\nthe console:\n%s", s.boot.Name, err, console)
		}
		// Whatever it was, this machine may have had a part in it.
		say(fmt.Sprintf("%s: %v: what follows runs in another machine", s.boot.Name, err))
		s.start(t)
		names = left
	}
}

// fail notes tests that have not ended.
func (s *session) fail(t *testing.T, p labPackage, names []string) {
	t.Helper()
	for _, name := range names {
		s.rows = append(s.rows, row{mechanism(name), p.path, s.boot.Name, "fail", 0})
		t.Errorf("%s did not end in the laboratory, boot %s", name, s.boot.Name)
	}
}

// runIn runs them in the machine there is, and returns those that did not end, and why.
func (s *session) runIn(t *testing.T, p labPackage, names []string) (left []string, console string, err error) {
	patience, cycles := cyclesAsked()
	watch := newWatch(t.Context(), s.lab, p.binary, patience)
	defer watch.stop()
	left = slices.Clone(names)
	show := func(r events.Result) {
		watch.testEnded()
		left = slices.DeleteFunc(left, func(name string) bool { return name == r.Name })
		if r.Action == "skip" { // it has said that it is for this boot
			r.Action = "fail"
			r.Output += "\nskipped where it must run"
		}
		if s.judge(p, &r) {
			s.show(t, p, r)
		}
	}
	all, wait := relay(t, s.repository, show)
	request := guestagent.Request{
		Argv: []string{p.binary, "-test.v=test2json", "-test.timeout=0", "-test.run", "^(" + strings.Join(names, "|") + ")$"},
		Dir:  filepath.Join(s.repository, p.path),
		// Less garbage collection: its threads on other processors cost a translated machine most.
		Env: append(cycles, "GOGC=400", labtest.BootVariable+"="+s.boot.Name, "NINES_REQUIRE=all", "NINES_LIBEXEC="+filepath.Join(s.repository, "bin")),
	}
	code, err := s.lab.Do(watch, request, guestagent.Streams{Stdout: all, Stderr: all})
	rest := wait()
	if len(left) == 0 && err == nil {
		return nil, "", nil // a failed test has been told
	}
	if err == nil {
		err = fmt.Errorf("the tests of %s ended with exit code %d; they said last:\n%s", p.path, code, rest)
	}
	if watch.stuck.Load() && !errors.Is(err, errStuck) {
		err = fmt.Errorf("%w: %w", errStuck, err)
	}
	text, _ := os.ReadFile(s.lab.Config().ConsoleLog())
	return left, string(text), err
}

// show makes a subtest of a test, and a row of the table.
func (s *session) show(t *testing.T, p labPackage, r events.Result) {
	t.Helper()
	s.rows = append(s.rows, row{mechanism(r.Name), p.path, s.kernel(), r.Action, r.Seconds})
	t.Run(r.Name, func(t *testing.T) {
		if r.Action == "fail" {
			t.Errorf("in the laboratory, boot %s:\n%s", s.boot.Name, r.Output)
		}
	})
}

// cyclesAsked hands on how often the tests that kill nines are to do so, and how long one
// test may then take.
func cyclesAsked() (patience time.Duration, env []string) {
	patience = testPatience
	if labtest.Long() {
		env = append(env, labtest.LongVariable+"=1")
		patience *= 3 // systemd restarts many times in an emulated machine
	}
	for _, name := range []string{"NINES_CYCLES", "NINES_KILL_CYCLES"} {
		if count := os.Getenv(name); count != "" {
			env = append(env, name+"="+count)
			patience = 3 * time.Hour
		}
	}
	return patience, env
}
