package measure

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/measure/method"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestMethodExamplesRun runs each example of a method, shortened by quick and by a ceiling, on real
// labs, and checks that its result is complete. The findings depend on the host and are not
// checked.
func TestMethodExamplesRun(t *testing.T) {
	labtest.Experiment(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	search := []string{"method.max_rate_pps=4000", "method.min_rate_pps=500", "method.width=0.3", "method.trial=200ms", "method.settle=10ms", "method.loads=[0.5]"}
	tests := map[string]struct {
		sets     []string
		searches int
		// findings must be among those of the first search.
		findings []string
		// Only the long form runs all of them.
		short bool
	}{
		"mlrsearch.yaml": {append(search, "sweep=", "method.goals=[{name: ndr, duration_sum: 2s}, {name: pdr, duration_sum: 2s}]"), 1, []string{"NDR", "PDR"}, true},
		"tst009.yaml":    {append(search, "sweep.links.*.kind=[veth, bridge]"), 2, []string{"throughput"}, false},
		"rfc2544.yaml":   {append(search, "sweep.traffic.frame_bytes=[64, 1518]", "method.tests=[throughput, frame_loss]"), 2, []string{"throughput", "frame loss rate"}, false},
		"rfc8219.yaml":   {search, 1, nil, false},
		"y1564.yaml":     {[]string{"method.trial=1s", "method.soak=1s", "method.settle=10ms", "method.committed_pps=500", "method.excess_pps=100", "method.limits.latency=60s", "method.limits.variation=60s", "method.limits.loss_ratio=1"}, 1, []string{"loss", "received rate"}, true},
		"soak.yaml":      {[]string{"traffic.rate_pps=1000", "method.soak=1s", "method.window=250ms"}, 1, []string{"loss"}, false},
	}
	paths, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		file := loadExample(t, path)
		runs := runsOf(t, file)
		if runs[0].Experiment.Method.Plain() {
			continue
		}
		name := filepath.Base(path)
		test, ok := tests[name]
		if !ok {
			t.Errorf("%s is not run by this test", name)
			continue
		}
		if !test.short && !labtest.Long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, set := range append([]string{"method.quick=true", "traffic.outliers=10", "traffic.warmup=20ms", "traffic.drain=100ms"}, test.sets...) {
				if err := file.Set(set); err != nil {
					t.Fatal(err)
				}
			}
			experiment, writer, done := measured(t, file, inventory)
			if len(done.Problems) > 0 {
				t.Errorf("problems: %q", done.Problems)
			}
			if len(done.Searches) != test.searches || experiment.Left(writer) != 0 {
				t.Fatalf("%d searches, want %d; %d are left", len(done.Searches), test.searches, experiment.Left(writer))
			}
			holdsItsTrials(t, done)
			for _, want := range test.findings {
				if !hasFinding(done.Searches[0], want) && !isCutShort(done.Searches[0]) {
					t.Errorf("no finding %q in %+v", want, done.Searches[0].Findings)
				}
			}
			if s := done.Searches[0]; s.Conformant && name != "soak.yaml" {
				t.Errorf("quick is conformant: %+v", s)
			}
		})
	}
}

// isCutShort is true for a search that ended early, as the host was too busy for its trials.
func isCutShort(s result.Search) bool {
	return slices.ContainsFunc(s.Findings, func(f result.Finding) bool {
		return strings.HasPrefix(f.Reason, "not measured: ") && strings.Contains(f.Reason, " were invalid")
	})
}

func hasFinding(s result.Search, name string) bool {
	for _, f := range s.Findings {
		if f.Name == name {
			return true
		}
	}
	return false
}

// holdsItsTrials checks that each trial of the summary is in its search, with the same purpose and
// the intended rate.
func holdsItsTrials(t *testing.T, done *result.Result) {
	t.Helper()
	purposes := map[string]string{}
	for _, s := range done.Searches {
		for _, one := range s.Trials {
			purposes[one.ID] = s.ID + " " + one.Purpose
			details, err := done.TrialFolder(one.ID).Details()
			if err != nil {
				t.Fatal(err)
			}
			if details.IntendedPPS != one.RatePPS || details.ElapsedNs <= 0 || details.IntendedPackets == 0 {
				t.Errorf("trial %s is %+v, and its details say %g packets/s, %d packets, %d ns", one.ID, one, details.IntendedPPS, details.IntendedPackets, details.ElapsedNs)
			}
		}
	}
	for _, trial := range done.Summary.Trials {
		if !strings.HasPrefix(purposes[trial.ID], trial.Search+" ") {
			t.Errorf("trial %s of search %s is not in it: %q", trial.ID, trial.Search, purposes[trial.ID])
		}
	}
	if len(purposes) != len(done.Summary.Trials) {
		t.Errorf("%d trials in searches and %d in the summary", len(purposes), len(done.Summary.Trials))
	}
}

// TestABurstHasItsPackets checks that a load of N packets is a trial of N packets at any rate,
// started at once and without a warm-up.
func TestABurstHasItsPackets(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "burst", pairNetwork, "traffic.rate_pps=", "traffic.duration=", "traffic.burst=16", "method={kind: tst009, quick: true, max_rate_pps: 3000}")
	ctx := context.Background()
	err := onBench(ctx, t, experiment, func(b *bench, r run) error {
		s := newSearching(b, writer, r, 1)
		for _, burst := range []struct {
			packets uint64
			rate    float64
		}{{1, 10}, {7, 333.333}, {1000, 3000.7}, {64, 1e5}} {
			load := method.Load{RatePPS: burst.rate, Duration: time.Second, Packets: burst.packets, Purpose: "burst"}
			if at := r.at(load).stream; at.Warmup != 0 || at.Burst != 1 {
				t.Errorf("a burst has a warm-up of %v in bursts of %d", at.Warmup, at.Burst)
			}
			outcome, err := s.trial(ctx, load)
			if err != nil {
				return err
			}
			if outcome.Intended != burst.packets {
				t.Errorf("a burst of %d packets at %g a second was one of %d", burst.packets, burst.rate, outcome.Intended)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// onBench prepares the bench for an experiment's first run, and passes it on.
func onBench(ctx context.Context, t *testing.T, e *Experiment, do func(*bench, run) error) (err error) {
	t.Helper()
	lock, err := lab.BeginMeasurement(ctx, e.Name(), e.Plans())
	if err != nil {
		return err
	}
	b := &bench{source: e.Source, watch: silent{}, lock: lock, inventory: e.inventory}
	defer func() { err = errors.Join(err, b.clear(ctx), lock.End()) }()
	if err := b.set(ctx, e.runs[0]); err != nil {
		return err
	}
	return do(b, e.runs[0])
}

// TestLabsStayUpBetweenTrials checks that a search uses one lab and one pair of engines.
func TestLabsStayUpBetweenTrials(t *testing.T) {
	labtest.Experiment(t)
	experiment, writer := prepare(t, "stays", pairNetwork, "traffic.rate_pps=", "traffic.duration=", "method={kind: tst009, quick: true, max_rate_pps: 3000}")
	err := onBench(context.Background(), t, experiment, func(b *bench, r run) error {
		l, engines := b.lab, b.generator
		s := newSearching(b, writer, r, 1)
		for _, rate := range []float64{100, 2000, 333} {
			if _, err := s.trial(context.Background(), method.Load{RatePPS: rate, Duration: 100 * time.Millisecond, Purpose: "search"}); err != nil {
				return err
			}
			if b.lab != l || b.generator != engines {
				t.Errorf("the trial at %g packets/s was on another lab, or other engines", rate)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestASearchKnowsItsBounds checks the state that a search shows while it runs.
func TestASearchKnowsItsBounds(t *testing.T) {
	var s SearchState
	outcome := func(received uint64) method.Outcome { return method.Outcome{Intended: 100, Received: received} }
	for _, step := range []struct {
		rate            float64
		outcome         method.Outcome
		lossless, lossy float64
	}{
		{1000, outcome(50), 0, 1000},
		{500, outcome(100), 500, 1000},
		{750, outcome(99), 500, 750},
		{600, method.Outcome{Intended: 100, Received: 10, Invalid: "noise"}, 500, 750},
		{800, outcome(100), 800, 0}, // the loss at 750 was a disturbance
		{900, outcome(1), 800, 900},
	} {
		s.saw(method.Load{RatePPS: step.rate}, step.outcome)
		if s.LosslessPPS != step.lossless || s.LossyPPS != step.lossy {
			t.Errorf("after %g packets/s: no loss at %g and loss at %g, want %g and %g", step.rate, s.LosslessPPS, s.LossyPPS, step.lossless, step.lossy)
		}
	}
	if s.Trials != 6 {
		t.Errorf("%d trials", s.Trials)
	}
}
