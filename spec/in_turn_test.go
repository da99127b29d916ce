package spec

import (
	"strings"
	"testing"
)

const inTurnFile = `
name: one
topology:
  nodes: {gen: {}, dut: {app: {kind: route}}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 1000}
sweep: {traffic.burst: [1, 2]}
`

// TestInTurn sweeps what differs between two files beside what both sweep, which no duet could.
func TestInTurn(t *testing.T) {
	load := func(text string) *File {
		t.Helper()
		f, err := Load("lab.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := load(inTurnFile), load(strings.Replace(inTurnFile, "rate_pps: 1000", "rate_pps: 2000", 1))
	f, err := InTurn(a, b, 6)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := f.Runs()
	if err != nil {
		t.Fatal(err)
	}
	rates := map[string]float64{}
	for _, run := range runs {
		e := run.Experiment
		if e.Repeat != 6 || e.Order != OrderInterleaved {
			t.Errorf("%s: %d repeats, %s", run, e.Repeat, e.Order)
		}
		rates[run.String()] = e.Traffic.RatePPS
	}
	for run, rate := range map[string]float64{
		"traffic.burst=1, variant=a": 1000, "traffic.burst=1, variant=b": 2000, "traffic.burst=2, variant=a": 1000, "traffic.burst=2, variant=b": 2000,
	} {
		if len(rates) != 4 || rates[run] != rate {
			t.Errorf("the runs are %v, not %s with %g packets a second", rates, run, rate)
		}
	}
	if _, err := InTurn(a, a, 6); err == nil || !strings.Contains(err.Error(), "say the same") {
		t.Errorf("a file against itself: %v", err)
	}
}

// TestValuesInTurn keeps more repeats than are needed.
func TestValuesInTurn(t *testing.T) {
	f, err := Load("lab.yaml", []byte(inTurnFile+"repeat: 8\norder: sequential\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.ValuesInTurn("traffic.burst", "2", "4", 6); err != nil {
		t.Fatal(err)
	}
	runs, err := f.Runs()
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || runs[0].Experiment.Repeat != 8 || runs[0].Experiment.Order != OrderInterleaved || runs[1].Experiment.Traffic.Burst != 4 {
		t.Errorf("%d runs, the first %+v", len(runs), runs[0].Experiment)
	}
}
