package method_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/measure/method/simulate"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// oracle is the PyPI package MLRsearch, written by the authors of RFC 9971, in a separate process.
type oracle struct {
	t    *testing.T
	ask  *json.Encoder
	tell *bufio.Scanner
}

// startOracle starts it from build/venv, where make setup-test installs it.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	python, err := filepath.Abs(filepath.Join("..", "..", "build", "venv", "bin", "python3"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(python)
	labtest.Require(t, "the PyPI package MLRsearch in build/venv (make setup-test)", err == nil)
	cmd := exec.Command(python, filepath.Join("testdata", "mlrsearch.py"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("MLRsearch: %v\n%s", err, &stderr)
		}
	})
	return &oracle{t, json.NewEncoder(stdin), bufio.NewScanner(stdout)}
}

// oracleGoal is a goal as the package describes it.
type oracleGoal struct {
	LossRatio   float64 `json:"loss_ratio"`
	ExceedRatio float64 `json:"exceed_ratio"`
	Width       float64 `json:"relative_width"`
	Initial     float64 `json:"initial_trial_duration"`
	Final       float64 `json:"final_trial_duration"`
	Sum         float64 `json:"duration_sum"`
}

// oracleFound is its result for a goal.
type oracleFound struct{ Throughput, Low, High *float64 }

// search runs the same search as o on the same device.
func (p *oracle) search(o method.MLRsearch, d simulate.Device) (found []oracleFound, trials int, took time.Duration) {
	p.t.Helper()
	var goals []oracleGoal
	for _, g := range o.Goals {
		goals = append(goals, oracleGoal{g.LossRatio, g.ExceedRatio, g.Width, g.InitialTrial.Seconds(), g.FinalTrial.Seconds(), g.DurationSum.Seconds()})
	}
	p.say(map[string]any{"goals": goals, "min_pps": o.MinPPS, "max_pps": o.MaxPPS})
	for p.tell.Scan() {
		var wants struct {
			Duration float64 `json:"duration_s"`
			Rate     float64 `json:"rate_pps"`
			Found    []oracleFound
		}
		if err := json.Unmarshal(p.tell.Bytes(), &wants); err != nil {
			p.t.Fatal(err)
		}
		if wants.Found != nil {
			return wants.Found, trials, took
		}
		lasts := time.Duration(wants.Duration * float64(time.Second))
		outcome, err := d.Trial(context.Background(), method.Load{RatePPS: wants.Rate, Duration: lasts})
		if err != nil {
			p.t.Fatal(err)
		}
		trials, took = trials+1, took+outcome.Elapsed
		p.say(map[string]any{"intended": outcome.Intended, "received": outcome.Received})
	}
	p.t.Fatal("MLRsearch ended in the middle of a search")
	return nil, 0, 0
}

func (p *oracle) say(what any) {
	if err := p.ask.Encode(what); err != nil {
		p.t.Fatal(err)
	}
}

// TestAgreesWithMLRsearch runs both on the same devices, 100 of each kind for each set of goals:
// they find the same conditional throughput within the goals' width, and we do not measure longer
// in total. Where chance decides, both find only one of several answers, so they agree only in most
// cases: a goal that excuses no trial finds the rates at which a noisy device happened to be
// undisturbed.
func TestAgreesWithMLRsearch(t *testing.T) {
	const each = 100
	oracle := startOracle(t)
	for _, test := range []struct {
		goals        []string
		quiet, noisy float64 // smallest fraction of equal answers
	}{
		{[]string{"ndr", "pdr"}, 1, 0.98},
		{[]string{"ndr"}, 1, 0.98},
		{[]string{"pdr"}, 1, 0.98},
		{[]string{"rfc2544"}, 1, 0.5},
		{[]string{"tst009"}, 1, 0.85},
		{[]string{"ndr", "pdr", "rfc2544", "tst009"}, 0.99, 0.6},
	} {
		for kind, least := range []float64{test.quiet, test.noisy} {
			var ours, theirs time.Duration
			var ourTrials, theirTrials, same, all int
			for _, d := range simulate.Population(simulate.Kind(kind), each, 1) {
				m := spec.Method{Kind: spec.MethodMLRsearch, Goals: goals(test.goals...), Loads: none}
				o, err := method.MLRsearchOf(m, method.Setting{CeilingPPS: d.CeilingPPS()})
				if err != nil {
					t.Fatal(err)
				}
				fresh := d // the same noise for both
				found, err := o.Search(context.Background(), fresh.Trial)
				if err != nil {
					t.Fatal(err)
				}
				reference, trials, took := oracle.search(o, d)
				ours, ourTrials = ours+time.Duration(found.MeasuringNs), ourTrials+len(found.Trials)
				theirs, theirTrials = theirs+took, theirTrials+trials
				for i, want := range reference {
					all++
					if agree(number(found.Findings[i].Value), number(want.Throughput), o.Goals[i].Width) {
						same++
					}
				}
			}
			t.Logf("%v, %s devices: %.1f s in %d trials, MLRsearch %.1f s in %d: ratio of time %.3f; %d of %d the same",
				test.goals, []string{"quiet", "noisy"}[kind], ours.Seconds(), ourTrials, theirs.Seconds(), theirTrials, ours.Seconds()/theirs.Seconds(), same, all)
			if ours > theirs {
				t.Errorf("%v: the trials take %s, those of MLRsearch %s", test.goals, ours, theirs)
			}
			if share := float64(same) / float64(all); share < least {
				t.Errorf("%v: %.3f of the answers are the same, want %.3f", test.goals, share, least)
			}
		}
	}
}

// agree reports whether two answers differ by at most the width: each is up to one width below the
// truth.
func agree(a, b, width float64) bool {
	low, high := min(a, b), max(a, b)
	return low > 0 && (high-low)/high <= width*1.01
}
