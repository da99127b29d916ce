package main

import (
	"bufio"
	"cmp"
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
)

// pass is a run over all packages.
type pass struct {
	name    string
	wrapper []string       // runs test binaries
	chosen  *regexp.Regexp // tests
	atOnce  int            // packages
	again   bool           // only what failed in the last one
	require bool           // a test that is skipped in every pass has failed

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
	tests  []string
}

// name is what its duration is kept by.
func (w work) name() string { return w.pass + w.part }

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
	var known, unknown []work
	for _, in := range packages {
		r, there, err := in.readRecord()
		if err != nil {
			return err
		}
		switch w := (work{in: in, record: r, pass: p.name}); {
		case p.again:
			if w.tests = r.Failed[p.name]; len(w.tests) > 0 {
				known = append(known, w)
			}
		case p.name == labtest.PassPure:
			known = append(known, w)
		case !there:
			w.pass = labtest.PassPure
			unknown = append(unknown, w)
		default:
			known = append(known, p.chosenOf(w)...)
		}
	}
	// Called without the pure pass before it, one learns first what tests need.
	if err := p.all(ctx, unknown, p.atOnce); err != nil {
		return err
	}
	for _, w := range unknown {
		w.pass = p.name
		known = append(known, p.chosenOf(w)...)
	}
	if p.name == labtest.PassHost && !p.again && p.chosen.String() == "" && len(known) == 0 {
		return errors.New("no test is known to need the whole host: the root pass finds them, so run make test-root first")
	}
	atOnce := p.atOnce
	switch {
	case p.again || p.name == labtest.PassHost || p.name == labtest.PassQuiet:
		atOnce = 1
	case p.name == labtest.PassRoot:
		atOnce++ // labs wait more than they compute
	}
	if err := p.all(ctx, known, atOnce); err != nil {
		return err
	}
	if p.failed {
		return errFailed
	}
	return nil
}

// chosenOf is the work if there are tests in it for the pass.
func (p *pass) chosenOf(w work) []work {
	w.tests = nil
	for name, said := range w.record.Skipped {
		if isFor(p.name, said) && p.chosen.MatchString(name) {
			w.tests = append(w.tests, name)
		}
	}
	slices.Sort(w.tests)
	if len(w.tests) == 0 {
		return nil
	}
	return w.parted()
}

// experimentWeight is how many labs take as long as a test that runs experiments, roughly.
const experimentWeight = 4

// weight is how long the tests may take, in labs, where that is not known yet.
func (w work) weight() int {
	sum := 0
	for _, name := range w.tests {
		sum++
		if slices.ContainsFunc(w.record.Skipped[name], labtest.IsExperiment) {
			sum += experimentWeight - 1
		}
	}
	return sum
}

// all does the work of packages side by side, what takes longest first, or may take longest where that is not
// known yet.
func (p *pass) all(ctx context.Context, packages []work, atOnce int) error {
	slices.SortStableFunc(packages, func(a, b work) int {
		return cmp.Or(cmp.Compare(b.record.Seconds[b.name()], a.record.Seconds[a.name()]), cmp.Compare(b.weight(), a.weight()))
	})
	for _, w := range packages {
		delete(w.record.Failed, w.pass)
	}
	places, ended := make(chan struct{}, atOnce), sync.WaitGroup{}
	var mu sync.Mutex
	var failures []error
	for _, w := range packages {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		ended.Go(func() {
			defer func() { <-places }()
			if err := p.one(ctx, w); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, fmt.Errorf("%s: %w", w.in.ImportPath, err))
			}
		})
	}
	ended.Wait()
	return errors.Join(append(failures, ctx.Err())...)
}

// patience is how long the tests of one package may take.
func patience() time.Duration {
	if labtest.Long() {
		return 80 * time.Minute
	}
	return 40 * time.Minute
}

// one runs the work of one package, tells its events, and notes what its tests need.
func (p *pass) one(ctx context.Context, w work) error {
	env := append(slices.Clone(p.env), labtest.PassVariable+"="+w.pass, labtest.PartVariable+"="+w.part)
	wrapper := p.wrapper
	if w.pass == labtest.PassPure {
		// What is missing here is there in another pass.
		wrapper, env = nobody(), append(env, "NINES_REQUIRE=")
	}
	args := slices.Concat(wrapper, []string{"env"}, env,
		[]string{w.in.binary(), "-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + patience().String()})
	if len(w.tests) > 0 {
		args = append(args, "-test.run", "^("+strings.Join(w.tests, "|")+")$")
	} else if p.chosen.String() != "" {
		args = append(args, "-test.run", p.chosen.String())
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir, command.Env = w.in.Dir, append(os.Environ(), "PWD="+w.in.Dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what tests started hears it, too
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
	reader := events.Reader{Tell: func(r events.Result) {
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
	}}
	failed, err := p.relay(from, &reader)
	exit := <-ended
	err = errors.Join(err, convert.Wait(), ignoreExit(exit))
	if exit != nil && !failed { // the tests have not got as far as to say so
		p.say(event{"output", w.in.ImportPath, "", exit.Error() + "\n"}, event{"fail", w.in.ImportPath, "", ""})
		failed = true
	}
	if len(lost) > 0 {
		p.tell(w.in.ImportPath, lost)
		failed = true
	}
	if failed && len(failures) == 0 {
		failures = []string{".*"} // it was none of them
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

// relay prints the events of a package, and tells whether it failed.
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

// lostTest is the test that fails for those that are skipped in every pass.
const lostTest = "TestNoneIsSkippedInEveryPass"

// tell makes a failed test of those that are skipped in every pass.
func (p *pass) tell(path string, lost []string) {
	all := []event{{"run", path, lostTest, ""}}
	for _, text := range lost {
		all = append(all, event{"output", path, lostTest, "    " + text + "\n"})
	}
	p.say(append(all, event{"fail", path, lostTest, ""})...)
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
	var names []string
	for _, in := range packages {
		r, _, err := in.readRecord()
		if err != nil {
			return err
		}
		for _, test := range r.Failed[p.name] {
			names = append(names, in.name()+" "+test)
		}
	}
	if len(names) == 0 || len(names) > mostAgain {
		return fmt.Errorf("%d tests have failed", len(names))
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
