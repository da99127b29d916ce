package main

import (
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
)

// A pair that is measured, and a node beside it:
//
//	a:eth ──wire── b:eth    a:side ──beside── c:eth
const besideFile = `
name: tcduring
topology:
  nodes: {a: {}, b: {}, c: {}}
  links:
    - {name: wire, endpoints: ["a:eth", "b:eth"]}
    - {name: beside, endpoints: ["a:side", "c:eth"]}
traffic: {from: "a:eth", to: "b:eth", rate_pps: 2000, duration: 25s, warmup: 50ms, drain: 200ms, outliers: 10}
`

// TestNodesAreChangedDuringAMeasurement: a call without the flag does nothing, and one with it does it; the trial of
// nines run is invalid, with the reason.
func TestNodesAreChangedDuringAMeasurement(t *testing.T) {
	s := newShell(t)
	run := s.start("run", s.write("tcduring", besideFile))
	reach(t, run, received("tcduring", 1000)) // after the warm-up's 100
	pid := func() int {
		t.Helper()
		l, err := lab.Open("tcduring")
		if err != nil {
			t.Fatal(err)
		}
		return l.PID("c")
	}
	first := pid()
	for _, call := range [][]string{{"restart", "c"}, {"stop", "c"}, {"start", "c"}, {"power", "c", "reset"}} {
		code, said := s.call(call...)
		if code != exit.Failed || !strings.Contains(said, "is being measured by process") || !strings.Contains(said, "--during-measurement") {
			t.Errorf("nines %v = %d, %q", call, code, said)
		}
	}
	if now := pid(); now != first {
		t.Errorf("its first process was %d and is %d", first, now)
	}
	for _, call := range [][]string{
		{"restart", "c", "--during-measurement"}, {"stop", "c", "--during-measurement"}, {"start", "c", "--during-measurement"},
	} {
		if code, said := s.call(call...); code != 0 {
			t.Errorf("nines %v = %d, %s", call, code, said)
		}
	}
	if now := pid(); now == first || now == 0 {
		t.Errorf("its first process was %d and is %d", first, now)
	}
	if code, said := s.call("restart", "nobody", "--during-measurement"); code != exit.Wrong {
		t.Errorf("a node that is not there: %d, %s", code, said)
	}
	run.await(t)
	done, err := result.Open(filepath.Join(s.dir, "results", "latest"))
	if err != nil || len(done.Summary.Trials) != 1 {
		t.Fatalf("measured %+v, %v: %s", done, err, run.said.String())
	}
	trial := done.Summary.Trials[0]
	reasons := strings.Join(trial.Reasons, "\n")
	for _, how := range []string{"restart", "stop", "start"} {
		if !strings.Contains(reasons, "asked for by nines "+how) {
			t.Errorf("no reason tells of nines %s:\n%s", how, reasons)
		}
	}
	if trial.Verdict != result.Invalid || trial.RxPackets == 0 {
		t.Errorf("the trial is %s, with %d packets", trial.Verdict, trial.RxPackets)
	}
}
