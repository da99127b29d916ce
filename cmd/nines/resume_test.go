package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// soakFile is a soak of short windows.
//
//	a:eth ──wire── b:eth
const soakFile = `
name: longrun
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 1000, warmup: 50ms, drain: 200ms, outliers: 10}
method: {kind: soak, soak: 3s, window: 300ms}
`

// trials waits until the summary has at least this many trials, and returns the result.
func (s *shell) trials(p *process, least int) *result.Result {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		found, _ := filepath.Glob(filepath.Join(s.dir, "results", "*", "*", result.SummaryFile))
		if len(found) == 1 {
			if r, err := result.Open(filepath.Dir(found[0])); err == nil && len(r.Summary.Trials) >= least {
				return r
			}
		}
		select {
		case <-p.ended:
			s.t.Fatalf("%v has ended: %s", p.Args, p.said.String())
		default:
		}
	}
	s.t.Fatalf("%d trials do not come: %s", least, p.said.String())
	return nil
}

// TestASoakSurvivesKill kills nines with SIGKILL in the middle of a soak, twice, and resumes it.
func TestASoakSurvivesKill(t *testing.T) {
	labtest.Guarantee(t)
	s := newShell(t)
	file := s.write("longrun", soakFile)
	run := s.start("run", file)
	first := s.trials(run, 2)
	run.signal(t, syscall.SIGKILL)
	run.await(t)

	again := s.start("run", "--resume", first.Dir)
	second := s.trials(again, len(first.Summary.Trials)+2)
	again.signal(t, syscall.SIGKILL)
	again.await(t)
	if code, said := s.call("report", first.Dir); code != 0 || !strings.Contains(said, "unfinished") {
		t.Errorf("the report of a soak that was cut off = %d: %s", code, said)
	}

	code, said := s.call("run", "--resume", first.Dir)
	if code != 0 && !labtest.NoneValid(said) {
		t.Fatalf("the last resume = %d: %s", code, said)
	}
	done, err := result.Open(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Problems) > 0 {
		t.Errorf("problems: %q", done.Problems)
	}
	if len(done.Summary.Trials) != 10 || len(done.Searches) != 1 {
		t.Fatalf("%d windows and %d soaks, want 10 and 1: %s", len(done.Summary.Trials), len(done.Searches), said)
	}
	for i, trial := range second.Summary.Trials {
		if now := done.Summary.Trials[i]; now.ID != trial.ID || now.RxPackets != trial.RxPackets || now.Latency.Count != trial.Latency.Count {
			t.Errorf("window %d was not kept as it was: %+v", i+1, now)
		}
	}
	soak := done.Searches[0]
	if len(soak.Trials) != 10 || !strings.Contains(strings.Join(soak.Deviations, "\n"), "interrupted and continued 2 times") {
		t.Errorf("the soak has %d windows and says %q", len(soak.Trials), soak.Deviations)
	}
	if len(done.Baselines) != 2 {
		t.Errorf("%d baselines, want one before and one after", len(done.Baselines))
	}
	if labs, err := lab.List(); err != nil || len(labs) > 0 {
		t.Errorf("labs are left: %+v (%v)", labs, err)
	}
	if code, said := s.call("run", "--resume", first.Dir); code != exit.Wrong || !strings.Contains(said, "nothing is left") {
		t.Errorf("a resume of what is done = %d: %s", code, said)
	}
}

// TestASearchGoesOnAfterCtrlC interrupts a search and resumes it: finished trials are not measured
// again.
func TestASearchGoesOnAfterCtrlC(t *testing.T) {
	s := newShell(t)
	file := s.write("longrun", strings.Replace(strings.Replace(soakFile, ", rate_pps: 1000", "", 1),
		"kind: soak, soak: 3s, window: 300ms", "kind: y1564, committed_pps: 500, excess_pps: 100, trial: 300ms, soak: 300ms, quick: true", 1))
	run := s.start("run", file)
	first := s.trials(run, 2)
	run.signal(t, syscall.SIGINT)
	run.await(t)
	if said := run.said.String(); !strings.Contains(said, "--resume "+strings.TrimPrefix(first.Dir, s.dir+"/")) {
		t.Errorf("it does not say how to go on: %s", said)
	}
	before, err := result.Open(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if code, said := s.call("run", "--resume", first.Dir); code != 0 && !labtest.NoneValid(said) {
		t.Fatalf("the resume = %d: %s", code, said)
	}
	done, err := result.Open(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Searches) != 1 || len(done.Searches[0].Trials) != len(done.Summary.Trials) {
		t.Fatalf("the search has %+v of %d trials", done.Searches, len(done.Summary.Trials))
	}
	for i, trial := range before.Summary.Trials {
		if done.Searches[0].Trials[i].ID != trial.ID {
			t.Errorf("trial %s is not the search's: %+v", trial.ID, done.Searches[0].Trials)
		}
	}
}

func TestWhatCannotBeResumed(t *testing.T) {
	s := newShell(t)
	if code, said := s.call("run", "--resume", s.dir); code != exit.Wrong || !strings.Contains(said, "not a result folder") {
		t.Errorf("a folder that is no result = %d: %s", code, said)
	}
	file := s.file("whole", "100ms")
	for _, call := range [][]string{{"run", "--resume", s.dir, file}, {"run", "--resume", s.dir, "--set", "repeat=2"}, {"run", "--resume", s.dir, "--out", "x"}} {
		if code, said := s.call(call...); code != exit.Wrong || !strings.Contains(said, "from DIR") {
			t.Errorf("%v = %d: %s", call, code, said)
		}
	}
	if code, said := s.call("run", file); code != 0 && !labtest.NoneValid(said) {
		t.Fatalf("run = %d: %s", code, said)
	}
	latest := filepath.Join(s.dir, "results", "latest")
	plan := filepath.Join(latest, result.PlanFile)
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plan, []byte(strings.Replace(string(text), `"whole"`, `"other"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := s.call("run", "--resume", latest); code != exit.Wrong || !strings.Contains(said, "another plan") {
		t.Errorf("another plan = %d: %s", code, said)
	}
}

// TestASweepGoesOn interrupts a plain sweep and finishes it: each combination and repeat is there
// once, complete.
func TestASweepGoesOn(t *testing.T) {
	s := newShell(t)
	text := strings.Replace(soakFile, "method: {kind: soak, soak: 3s, window: 300ms}", "sweep: {links.*.kind: [veth, bridge]}\nrepeat: 3", 1)
	file := s.write("longrun", strings.Replace(text, "rate_pps: 1000", "rate_pps: 1000, duration: 500ms", 1))
	run := s.start("run", file)
	first := s.trials(run, 2)
	run.signal(t, syscall.SIGKILL)
	run.await(t)
	if code, said := s.call("run", "--resume", first.Dir); code != 0 && !labtest.NoneValid(said) || !strings.Contains(said, "are left") {
		t.Fatalf("the resume = %d: %s", code, said)
	}
	done, err := result.Open(first.Dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, trial := range done.Summary.Trials {
		seen[result.FormatVariable(trial.Variables["links.*.kind"])+string(rune('0'+trial.Repeat))]++
	}
	if len(done.Summary.Trials) != 6 || len(seen) != 6 || len(done.Summary.Resumed) != 1 {
		t.Errorf("%d trials, %v, resumed %v", len(done.Summary.Trials), seen, done.Summary.Resumed)
	}
}
