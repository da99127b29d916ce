package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"nines.dev/nines/test/events"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/selection"
)

// pass is a run over all packages.
type pass struct {
	names   []string       // one, or the pure one and root's together
	wrapper []string       // runs test binaries
	chosen  *regexp.Regexp // tests
	atOnce  int            // packages
	again   bool           // only what failed in the last one
	require bool           // a test that is skipped in every pass has failed
	some    bool           // of the packages only

	units units // what counts for the tests
	tree  selection.Tree

	reader string   // go tool test2json
	env    []string // of the tests, beside what this program has
	mu     sync.Mutex
	out    io.Writer
	failed bool
}

// work is the tests of a package that a pass runs: all of them if it names none.
type work struct {
	in     *testPackage
	record *record
	pass   string
	part   string // of a large package: see parted
	place  string // of a part that runs: see labtest.PartVariable
	tests  []string
}

// name is what its duration is kept by.
func (w work) name() string { return w.pass + w.part }

// is reports whether both are the same tests.
func (w work) is(other work) bool { return w.in == other.in && w.name() == other.name() }

// errFailed is told when tests have failed; what they said is among the events.
var errFailed = errors.New("tests have failed")

func (p *pass) run(ctx context.Context, packages []*testPackage) error {
	var err error
	if p.reader, err = said(ctx, "hack/go", "tool", "-n", "test2json"); err != nil {
		return err
	}
	goroot, err := said(ctx, "hack/go", "env", "GOROOT")
	if err != nil {
		return err
	}
	flags, err := said(ctx, "hack/go", "env", "GOFLAGS")
	if err != nil {
		return err
	}
	// As go test does it, so that tests that build find this very Go.
	p.env = []string{"PATH=" + filepath.Join(goroot, "bin") + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "GOFLAGS=" + flags}
	p.units, p.tree = readUnits(ctx)
	var known, unknown []work
	records := map[*testPackage]*record{}
	for _, in := range packages {
		r, there, err := in.readRecord()
		if err != nil {
			return err
		}
		records[in] = r
		switch w := (work{in: in, record: r, pass: p.names[0]}); {
		case p.again:
			for _, name := range p.names {
				again, never := r.repeatable(name)
				if w.pass, w.tests = name, again; len(again) > 0 {
					known = append(known, w)
				}
				for _, test := range never {
					p.tell(in.ImportPath, test, []string{"it has failed, and is not repeated"})
					p.failed = true
				}
			}
		case p.names[0] == labtest.PassPure:
			known = append(known, w)
		case !there: // called without the pure pass before it, one learns first what tests need
			w.pass = labtest.PassPure
			unknown = append(unknown, w)
		default:
			known = append(known, p.chosenOf(w, p.last())...)
		}
	}
	if err := p.inOrder(ctx, known, unknown); err != nil {
		return err
	}
	if err := p.notePassed(ctx, packages, records); err != nil {
		return err
	}
	if p.failed {
		return errFailed
	}
	return nil
}

// whole reports whether the pass has all tests in their long form, and nothing that one needs may be missing.
func (p *pass) whole() bool {
	return labtest.Long() && p.require && !p.again && p.chosen.String() == ""
}

// last is the pass that has the tests that the pure one left.
func (p *pass) last() string { return p.names[len(p.names)-1] }

// inOrder does what is known to be for the pass, and what the pure pass over the other packages leaves to it.
func (p *pass) inOrder(ctx context.Context, known, unknown []work) error {
	follow := func(w work) []work {
		if p.again || w.pass != labtest.PassPure || p.last() == labtest.PassPure {
			return nil
		}
		return p.chosenOf(w, p.last())
	}
	if p.last() != labtest.PassHost && p.last() != labtest.PassQuiet {
		return p.all(ctx, append(known, unknown...), p.places(), follow)
	}
	// Beside what these do to the host, no test can run.
	nothing := func(work) []work { return nil }
	if err := p.all(ctx, unknown, places{p.atOnce, 0, p.atOnce}, nothing); err != nil {
		return err
	}
	for _, w := range unknown {
		known = append(known, follow(w)...)
	}
	if p.last() == labtest.PassHost && !p.again && !p.some && p.chosen.String() == "" && len(known) == 0 {
		return errors.New("no test is known to need the whole host: the root pass finds them, so run make test-root first")
	}
	return p.all(ctx, known, p.places(), nothing)
}

// chosenOf is the work if there are tests in it for a pass.
func (p *pass) chosenOf(w work, pass string) []work {
	w.pass, w.tests = pass, nil
	for name, said := range w.record.Skipped {
		if isFor(pass, said) && p.chosen.MatchString(name) {
			w.tests = append(w.tests, name)
		}
	}
	slices.Sort(w.tests)
	if len(w.tests) == 0 {
		return nil
	}
	return w.parted()
}

// patience is how long the tests of one package may take.
func patience() time.Duration {
	if labtest.Long() {
		return 4 * time.Hour // test/killed took one, and more than 80 minutes beside the other stages
	}
	return 40 * time.Minute
}

// one runs the work of one package, tells its events, and notes what its tests need.
func (p *pass) one(ctx context.Context, w work) error {
	env := append(slices.Clone(p.env), labtest.PassVariable+"="+w.pass, labtest.PartVariable+"="+w.place)
	wrapper := p.wrapper
	if w.pass == labtest.PassPure {
		// What is missing here is there in another pass.
		wrapper, env = nobody(), append(env, "NINES_REQUIRE=")
	}
	reads, err := w.readsFile()
	if err != nil {
		return err
	}
	args := slices.Concat(wrapper, []string{"env"}, env,
		[]string{w.in.binary(), "-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + patience().String(), "-test.testlogfile=" + reads})
	if len(w.tests) > 0 {
		args = append(args, "-test.run", "^("+strings.Join(w.tests, "|")+")$")
	} else if p.chosen.String() != "" {
		args = append(args, "-test.run", p.chosen.String())
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env = w.in.Dir, append(os.Environ(), "PWD="+w.in.Dir)
	command.SysProcAttr = inGroup()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.WaitDelay = time.Minute
	// Not started by the reader, which has them ignore Ctrl-C.
	convert := exec.Command(p.reader, "-t", "-p", w.in.ImportPath)
	convert.SysProcAttr = command.SysProcAttr
	convert.Stderr = os.Stderr
	to, err := convert.StdinPipe()
	if err != nil {
		return err
	}
	from, err := convert.StdoutPipe()
	if err != nil {
		return err
	}
	command.Stdout, command.Stderr = to, to
	begin := time.Now()
	if err := convert.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := command.Run()
		_ = to.Close()
		ended <- err
	}()
	if w.pass == labtest.PassPure && !p.again {
		w.record.Skipped = map[string][]string{}
	}
	var lost, failures []string
	guarantees := func(test, line string) {
		if labtest.IsGuarantee(line) {
			w.record.guarantee(test)
		}
	}
	reader := events.Reader{Output: guarantees, Tell: func(r events.Result) {
		var reasons []string
		for _, output := range r.Skips {
			said := reason(output)
			reasons = append(reasons, said)
			if isLost(w.pass, said) && p.require {
				lost = append(lost, r.Name+": "+said)
				failures = append(failures, r.Name)
			}
		}
		if r.Action == "fail" {
			failures = append(failures, r.Name)
		}
		w.record.skipped(r.Name, reasons)
		w.record.leftOut(w.pass, r.Name, reasons)
	}}
	failed, err := p.relay(from, &reader)
	exit := <-ended
	err = errors.Join(err, convert.Wait(), ignoreExit(exit))
	if exit != nil && !failed { // the tests have not got as far as to say so
		p.say(event{"output", w.in.ImportPath, "", exit.Error() + "\n"}, event{"fail", w.in.ImportPath, "", ""})
		failed = true
	}
	if len(lost) > 0 {
		p.tell(w.in.ImportPath, lostTest, lost)
		failed = true
	}
	surprises, wrong := p.surprises(w)
	err = errors.Join(err, wrong)
	if len(surprises) > 0 {
		p.tell(w.in.ImportPath, surpriseTest, surprises)
		failures, failed = append(failures, surpriseTest), true
	}
	if failed && len(failures) == 0 {
		failures = []string{wholePackage}
	}
	took := time.Since(begin)
	if p.again {
		took = 0
	}
	w.record.ended(w, failures, took, cpuOf(command.ProcessState))
	p.mu.Lock()
	p.failed = p.failed || failed
	p.mu.Unlock()
	if w.pass == labtest.PassPure && p.chosen.String() != "" {
		return err // not over all of them, which a record promises
	}
	return errors.Join(err, w.in.writeRecord(w.record))
}

// inGroup starts tests in a group of their own, so that what they started hears Ctrl-C, too. As root the group is a
// session, so that each package has its share of the CPUs, as Linux gives them by sessions (sched(7), autogroup), and
// what labs start has its own. Without root sudo may want the terminal.
func inGroup() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// relay prints the events of a package, and reports whether it failed.
func (p *pass) relay(from io.Reader, reader *events.Reader) (failed bool, err error) {
	lines := bufio.NewReader(from)
	for {
		line, end := lines.ReadBytes('\n')
		if len(line) > 0 {
			var event struct{ Action, Test string }
			if err := json.Unmarshal(line, &event); err != nil {
				return true, fmt.Errorf("an event of a test: %s: %w", line, err)
			}
			failed = failed || event.Action == "fail"
			err = errors.Join(err, reader.Read(line))
			p.mu.Lock()
			_, _ = p.out.Write(line)
			p.mu.Unlock()
		}
		if end != nil {
			return failed, err
		}
	}
}

// Tests that fail for a whole package.
const (
	wholePackage = ".*" // it ended, and none of them had failed
	lostTest     = "TestNoneIsSkippedInEveryPass"
	surpriseTest = "TestOpensOnlyWhatItsPackageIsSelectedBy"
)

// tell makes a failed test of what is wrong with a package.
func (p *pass) tell(path, test string, wrong []string) {
	all := []event{{"run", path, test, ""}}
	for _, text := range wrong {
		all = append(all, event{"output", path, test, "    " + text + "\n"})
	}
	p.say(append(all, event{"fail", path, test, ""})...)
}

// event is one of go test -json.
type event struct{ Action, Package, Test, Output string }

// say prints events of its own, together.
func (p *pass) say(all ...event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	encoder := json.NewEncoder(p.out)
	for _, e := range all {
		fields := map[string]string{"Action": e.Action, "Package": e.Package}
		if e.Test != "" {
			fields["Test"] = e.Test
		}
		if e.Output != "" {
			fields["Output"] = e.Output
		}
		_ = encoder.Encode(fields)
	}
}

// mostAgain is how many tests may fail and be run once more: a host that takes a core away
// for milliseconds fails few of thousands.
const mostAgain = 6

// toRepeat names the tests that failed, if they are few.
func (p *pass) toRepeat(packages []*testPackage) error {
	var names, never []string
	for _, in := range packages {
		r, _, err := in.readRecord()
		if err != nil {
			return err
		}
		for _, pass := range p.names {
			again, kept := r.repeatable(pass)
			for _, test := range again {
				names = append(names, in.name()+" "+test)
			}
			for _, test := range kept {
				never = append(never, in.name()+" "+test)
			}
		}
	}
	if len(never) > 0 {
		fmt.Fprintf(os.Stderr, "what is not repeated, as it would hide a fault, has failed: %s\n", strings.Join(never, ", "))
	}
	if failed := len(names) + len(never); len(names) == 0 || failed > mostAgain {
		return fmt.Errorf("%d tests have failed", failed)
	}
	fmt.Fprintln(p.out, strings.Join(names, ", "))
	return nil
}

// said is what a command prints.
func said(ctx context.Context, name string, arguments ...string) (string, error) {
	text, err := exec.CommandContext(ctx, name, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// cpuOf is what an ended process used of CPUs, with what it has waited for; 0 if it was not started.
func cpuOf(ended *os.ProcessState) time.Duration {
	if ended == nil {
		return 0
	}
	return ended.UserTime() + ended.SystemTime()
}

// ignoreExit leaves out that tests have failed, which the events tell.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return nil
	}
	return err
}

// nobody is the command that runs what follows it as an ordinary user: as root in a user
// namespace in which root is one, if there can be one.
func nobody() []string {
	command := []string{"unshare", "--user", "--map-user=1000", "--map-group=1000"}
	if os.Geteuid() != 0 || exec.Command(command[0], append(command[1:], "true")...).Run() != nil {
		return nil
	}
	return command
}
