package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// pairFile is two nodes and a link, with a trial of a given length.
//
//	a:eth ──wire── b:eth
const pairFile = `
name: %s
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 2000, duration: %s, warmup: 50ms, drain: 200ms, outliers: 10}
`

// shell runs nines in separate processes, to test signals and locks between processes.
type shell struct {
	t      *testing.T
	binary string
	dir    string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	labtest.Root(t)
	return &shell{t: t, dir: t.TempDir(), binary: labtest.Nines(t)}
}

func (s *shell) file(name, duration string) string {
	return s.write(name, fmt.Sprintf(pairFile, name, duration))
}

func (s *shell) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *shell) command(arguments ...string) *exec.Cmd {
	cmd := exec.Command(s.binary, arguments...)
	cmd.Dir = s.dir
	return cmd
}

// call runs nines to its end and returns its exit code and all its output.
func (s *shell) call(arguments ...string) (code int, said string) {
	s.t.Helper()
	out, err := s.command(arguments...).CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		s.t.Fatal(err)
	}
	code = 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	return code, string(out)
}

// process is a nines that runs during the test.
type process struct {
	*exec.Cmd
	said  bytes.Buffer
	ended chan struct{}
}

// start runs nines until it ends or the test ends.
func (s *shell) start(arguments ...string) *process {
	s.t.Helper()
	p := &process{Cmd: s.command(arguments...), ended: make(chan struct{})}
	p.Stdout, p.Stderr = &p.said, &p.said
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	s.t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
		// Not by the test's context, which has ended: what takes time to go would stay.
		if err := lab.DownAll(func(name string) error {
			_, err := lab.Down(context.Background(), name)
			return err
		}); err != nil {
			s.t.Errorf("take down what is left: %v", err)
		}
	})
	return p
}

func (p *process) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// patience limits waits for events that must happen; it is not a measurement.
const patience = 30 * time.Second

// await waits for the end of the process and returns its status.
func (p *process) await(t *testing.T) syscall.WaitStatus {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%v does not end", p.Args)
	}
	return p.ProcessState.Sys().(syscall.WaitStatus)
}

// reach waits until the list of labs is as wanted.
func reach(t *testing.T, p *process, wanted func([]lab.Status) bool) {
	t.Helper()
	var labs []lab.Status
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		labs, _ = lab.List()
		if wanted(labs) {
			return
		}
		select {
		case <-p.ended:
			t.Fatalf("%v has ended: %s", p.Args, p.said.String())
		default:
		}
	}
	t.Fatalf("the list stays %+v", labs)
}

// inTrial is true once the lab's measuring process sends its own traffic: the
// baseline is another lab.
func inTrial(name string) func([]lab.Status) bool {
	return func(labs []lab.Status) bool {
		for _, l := range labs {
			if l.Name == name && l.Condition == lab.ConditionMeasuring {
				_, err := os.Stat(filepath.Join(state.Root(), "labs", name, "settings.json"))
				return err == nil
			}
		}
		return false
	}
}

// received is true once node b has received that many packets.
func received(name string, packets uint64) func([]lab.Status) bool {
	return func([]lab.Status) bool {
		l, err := lab.Open(name)
		if err != nil {
			return false
		}
		in, err := l.Inspect(context.Background())
		return err == nil && len(in.NodeList[1].Interfaces) > 0 && in.NodeList[1].Interfaces[0].RxPackets >= packets
	}
}

func list(t *testing.T, s *shell) []lab.Status {
	t.Helper()
	code, said := s.call("ls", "--format", "json")
	var labs []lab.Status
	if err := json.Unmarshal([]byte(said), &labs); err != nil || code != 0 {
		t.Fatalf("ls = %d, %s", code, said)
	}
	return labs
}

func TestAMeasurementIsLeftAloneAndEndsWithTheTerminal(t *testing.T) {
	// Children get the default action of a handled signal, even if the test runs under nohup,
	// where nines would ignore SIGHUP.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	s := newShell(t)
	file := s.file("held", "60s")
	run := s.start("run", file)
	reach(t, run, inTrial("held"))
	pid := fmt.Sprintf("process %d", run.Process.Pid)
	for _, call := range [][]string{
		{"down", "held"}, {"apply", file}, {"up", file},
		{"run", file}, {"run", s.file("second", "1s")},
		{"up", file, "--set", "name=held-baseline"}, // it is down now, but will come up again
	} {
		code, said := s.call(call...)
		if code != exit.Failed || !strings.Contains(said, pid) || !strings.Contains(said, "wait for it") {
			t.Errorf("nines %v = %d, %q, want the process and a remedy", call, code, said)
		}
	}
	for _, call := range [][]string{{"inspect", "held"}, {"graph", "held"}, {"exec", "--lab", "held", "a", "--", "true"}, {"up", s.file("beside", "1s")}, {"down", "beside"}} {
		if code, said := s.call(call...); code != 0 {
			t.Errorf("nines %v = %d, %s", call, code, said)
		}
	}
	if _, said := s.call("ls"); !strings.Contains(said, fmt.Sprintf("measuring by %d", run.Process.Pid)) {
		t.Errorf("ls says %s", said)
	}
	reach(t, run, received("held", 1000)) // after the warm-up's 100

	run.signal(t, syscall.SIGHUP)
	if status := run.await(t); status.ExitStatus() != exit.Failed {
		t.Errorf("after SIGHUP it ended with %v: %s", run.ProcessState, run.said.String())
	}
	if labs := list(t, s); len(labs) != 0 {
		t.Errorf("left: %+v", labs)
	}
	kept, err := result.Open(filepath.Join(s.dir, "results", "latest"))
	if err != nil || len(kept.Summary.Trials) != 1 || kept.Summary.Trials[0].RxPackets == 0 {
		t.Errorf("kept %+v, %v, want the interrupted trial", kept, err)
	}
	if entries, _ := filepath.Glob(filepath.Join(s.dir, "results", "*second*")); len(entries) != 0 {
		t.Errorf("the refused run left %v", entries)
	}
}

func TestTheNextRunRemovesTheLabOfOneThatWasKilled(t *testing.T) {
	labtest.Guarantee(t)
	s := newShell(t)
	run := s.start("run", s.file("killed", "60s"))
	reach(t, run, inTrial("killed"))
	run.signal(t, syscall.SIGKILL)
	run.await(t)
	if labs := list(t, s); len(labs) != 1 || labs[0].Condition != lab.ConditionOrphaned || labs[0].PID != run.Process.Pid {
		t.Errorf("the list is %+v, want an orphan", labs)
	}
	// From another file: the orphan's engines would otherwise run beside it.
	if code, said := s.call("run", s.file("next", "300ms")); code != 0 && !labtest.NoneValid(said) {
		t.Errorf("the next run = %d, %s", code, said)
	}
	if labs := list(t, s); len(labs) != 0 {
		t.Errorf("left: %+v", labs)
	}
}

// TestASecondCtrlCEndsAtOnce uses a verb that cannot end soon: a node's command ignores the signal.
func TestASecondCtrlCEndsAtOnce(t *testing.T) {
	s := newShell(t)
	ready := filepath.Join(s.dir, "ready")
	up := s.start("up", s.write("deaf", fmt.Sprintf(`
name: deaf
topology:
  nodes: {a: {runtime: netns, exec: [["sh", "-c", "trap '' TERM; touch %s; sleep 60; sleep 60"]]}}
`, ready)))
	reach(t, up, func([]lab.Status) bool {
		_, err := os.Stat(ready)
		return err == nil
	})
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		select {
		case <-up.ended:
			end = time.Time{}
		default:
			_ = up.Process.Signal(syscall.SIGINT)
		}
	}
	if status := up.await(t); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v: %s", up.ProcessState, up.said.String())
	}
	if code, said := s.call("down", "deaf"); code != 0 {
		t.Errorf("down = %d, %s", code, said)
	}
}

func TestALabThatIsNotThereIsAWrongCall(t *testing.T) {
	s := newShell(t)
	for _, call := range [][]string{{"down", "none"}, {"inspect", "none"}, {"apply", s.file("none", "1s")}, {"down"}} {
		if code, said := s.call(call...); code != exit.Wrong {
			t.Errorf("nines %v = %d, %s", call, code, said)
		}
	}
	mount := "{name: m, topology: {nodes: {a: {mounts: [{source: /nowhere, target: /mnt}]}}}}"
	if code, said := s.call("up", s.write("m", mount)); code != exit.Wrong || !strings.Contains(said, "/nowhere") {
		t.Errorf("up with a mount of nothing = %d, %s", code, said)
	}
}
