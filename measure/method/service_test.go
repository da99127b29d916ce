package method_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/measure/method/simulate"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// TestY1564PassesWhatTheDeviceCarries: a service passes exactly if the device can carry its
// committed rate.
func TestY1564PassesWhatTheDeviceCarries(t *testing.T) {
	loss := 0.0
	var count tally
	for i, d := range simulate.Population(simulate.Quiet, devices, 9) {
		truth := d.Truth(0, 0, 15*time.Minute)
		part := 0.5 + float64(i%100)/100 // 0.5 to 1.49
		if math.Abs(part-1) < 0.005 {
			continue // too close to tell
		}
		m := spec.Method{Kind: spec.MethodY1564, CommittedPPS: truth * part, Limits: &spec.Limits{LossRatio: &loss}}
		found := search(t, m, method.Setting{}, d)
		carries := part < 1
		// A queue, or a ramp below the loss, may carry a short step; the performance test reveals
		// it.
		count.add(found.Passed != nil && *found.Passed == carries)
		count.took += time.Duration(found.MeasuringNs)
	}
	count.expect(t, "y1564", 1)
}

func TestY1564Judges(t *testing.T) {
	loss, some := 0.0, 0.02
	device := simulate.Device{CapacityPPS: 1e5, Latency: 100 * time.Microsecond}
	for name, test := range map[string]struct {
		committed, excess float64
		limits            spec.Limits
		passed            bool
		failed            string // the finding that fails
	}{
		"within all":       {5e4, 0, spec.Limits{LossRatio: &loss, Latency: spec.Duration(time.Millisecond), Variation: spec.Duration(time.Millisecond)}, true, ""},
		"too late":         {5e4, 0, spec.Limits{Latency: spec.Duration(50 * time.Microsecond)}, false, "latency p99.9"},
		"too much varying": {9e4, 0, spec.Limits{Variation: spec.Duration(10 * time.Microsecond)}, false, "delay variation p99.9"},
		"another rank":     {9e4, 0, spec.Limits{Variation: spec.Duration(10 * time.Microsecond), Percentile: 1}, true, ""},
		"too much lost":    {1.1e5, 0, spec.Limits{LossRatio: &some}, false, "loss"},
		"little lost":      {1.01e5, 0, spec.Limits{LossRatio: &some}, true, ""},
		"excess dropped":   {9e4, 9e4, spec.Limits{LossRatio: &loss}, true, ""},
		"excess harms":     {9e4, 9e5, spec.Limits{LossRatio: &loss}, false, "received rate"},
	} {
		t.Run(name, func(t *testing.T) {
			d := device
			if name == "excess harms" {
				d.Collapse = 0.5
			}
			limits := test.limits
			found := search(t, spec.Method{Kind: spec.MethodY1564, CommittedPPS: test.committed, ExcessPPS: test.excess, Limits: &limits}, method.Setting{}, d)
			if found.Passed == nil || *found.Passed != test.passed {
				t.Errorf("passed: %v, want %v: %+v", found.Passed, test.passed, found.Findings)
			}
			for _, f := range found.Findings {
				if f.Passed != nil && !*f.Passed && f.Name != test.failed {
					t.Errorf("%s fails: %g, limit %g", f.Name, number(f.Value), number(f.Limit))
				}
			}
			if test.passed && finding(t, found, "loss").Conditions["load"] != 0.5 {
				t.Errorf("the ramp does not begin at half: %+v", found.Findings[0])
			}
		})
	}
	found := search(t, spec.Method{Kind: spec.MethodY1564, CommittedPPS: 5e4}, method.Setting{}, device)
	if found.Passed != nil {
		t.Errorf("without limits: passed %v", *found.Passed)
	}
	var purposes []string
	for _, trial := range found.Trials {
		purposes = append(purposes, trial.Purpose)
	}
	want := []string{
		"latency at 50 % of the committed rate", "latency at 75 % of the committed rate",
		"latency at 90 % of the committed rate", "latency at 100 % of the committed rate", "latency in the performance test",
	}
	if diff := cmp.Diff(want, purposes); diff != "" {
		t.Error(diff)
	}
}

// soakOf is a soak of 30 windows, with limits.
func soakOf(t *testing.T) method.Soak {
	t.Helper()
	loss := 0.01
	soak, err := method.SoakOf(spec.Method{
		Kind: spec.MethodSoak, Soak: spec.Duration(30 * time.Minute),
		Limits: &spec.Limits{LossRatio: &loss, Latency: spec.Duration(time.Second)},
	}, 1e5)
	if err != nil {
		t.Fatal(err)
	}
	return soak
}

// TestSoakGoesOn interrupts a soak after every window, resumes it from its state after a round trip
// through JSON, and expects the same result as without interruption.
func TestSoakGoesOn(t *testing.T) {
	soak := soakOf(t)
	d := simulate.Device{Seed: 1, CapacityPPS: 1.2e5, Jitter: 0.05, Stalls: 0.1, Latency: time.Microsecond}
	whole := d
	want, err := soak.Run(context.Background(), whole.Trial, method.SoakState{}, func(method.SoakState) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if want.Passed == nil || !*want.Passed || len(want.Trials) != 30 {
		t.Fatalf("%d windows, passed %v: %v", len(want.Trials), want.Passed, want.Findings)
	}
	stop := errors.New("killed")
	var state method.SoakState
	for killed := 0; ; killed++ {
		found, err := soak.Run(context.Background(), d.Trial, state, func(s method.SoakState) error {
			kept, err := json.Marshal(s)
			if err != nil {
				return err
			}
			histograms := s.Windows
			state = method.SoakState{}
			if err := json.Unmarshal(kept, &state); err != nil {
				return err
			}
			for i := range state.Windows {
				state.Windows[i].Latency = histograms[i].Latency
			}
			return stop
		})
		if err == nil {
			if diff := cmp.Diff(want, found); diff != "" {
				t.Error(diff)
			}
			if killed != 30 {
				t.Errorf("killed %d times", killed)
			}
			return
		}
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		if killed < 29 && (found.Passed != nil || found.Conformant) {
			t.Fatalf("after %d windows: passed %v, conformant %v", killed+1, found.Passed, found.Conformant)
		}
	}
}

func TestSoakJudges(t *testing.T) {
	soak := soakOf(t)
	d := simulate.Device{CapacityPPS: 1.2e5, Latency: time.Microsecond}
	run := func(change func(window int, o *method.Outcome)) result.Search {
		t.Helper()
		window := 0
		found, err := soak.Run(context.Background(), func(ctx context.Context, load method.Load) (method.Outcome, error) {
			o, err := d.Trial(ctx, load)
			window++
			change(window, &o)
			return o, err
		}, method.SoakState{}, func(method.SoakState) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	lossy := run(func(_ int, o *method.Outcome) { o.Received = o.Intended * 98 / 100 })
	if lossy.Passed == nil || *lossy.Passed {
		t.Errorf("2 %% of loss passes a limit of 1 %%: %+v", lossy.Findings)
	}
	slow := run(func(window int, o *method.Outcome) {
		if window == 12 {
			o.Latency = result.NewHistogram()
			for range 1000 {
				o.Latency.Record(time.Millisecond.Nanoseconds())
			}
		}
	})
	worst := slow.Findings[len(slow.Findings)-1]
	if worst.Conditions["window"] != 12 || *worst.Value < 1e6*0.999 {
		t.Errorf("the worst window: %+v", worst)
	}
	invalid := run(func(window int, o *method.Outcome) {
		if window == 7 {
			o.Invalid, o.Latency, o.Received = "the clock was lost", nil, o.Intended/2
		}
	})
	if f := invalid.Findings[0]; !strings.Contains(f.Reason, "1 of 30 windows were invalid") || *f.Value < 0.01 {
		t.Errorf("an invalid window: %+v", f)
	}
}

// TestUnderLoad checks the trials and findings that follow a search.
func TestUnderLoad(t *testing.T) {
	d := simulate.Device{CapacityPPS: 1e6, Latency: 10 * time.Microsecond}
	found := search(t, spec.Method{Kind: spec.MethodMLRsearch}, method.Setting{CeilingPPS: 3e6}, d)
	pdr := number(finding(t, found, "PDR").Value)
	var loads []float64
	for _, trial := range found.Trials {
		if strings.HasPrefix(trial.Purpose, "latency at") {
			loads = append(loads, trial.RatePPS/pdr)
		}
	}
	if diff := cmp.Diff([]float64{0.1, 0.5, 0.9, 1}, loads); diff != "" {
		t.Error(diff)
	}
	for _, load := range loads {
		for _, name := range []string{"latency min", "latency p50", "latency p99.9", "latency max"} {
			there := false
			for _, f := range found.Findings {
				there = there || f.Name == name && f.Conditions["load"] == load && f.Conditions["of"] == "PDR" &&
					f.Value != nil && *f.Value >= 9990 && f.Trial != ""
			}
			if !there {
				t.Errorf("no %q at %g", name, load)
			}
		}
	}
}
