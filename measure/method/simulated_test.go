package method_test

import (
	"context"
	"testing"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/measure/method/simulate"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// devices is the number of simulated devices whose answer each search must find.
const devices = 1000

// search runs the search of an experiment file on a device.
func search(t *testing.T, m spec.Method, at method.Setting, d simulate.Device) result.Search {
	t.Helper()
	run, err := method.New(m, at)
	if err != nil {
		t.Fatal(err)
	}
	found, err := run(context.Background(), d.Trial)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// finding returns the finding with that name.
func finding(t *testing.T, s result.Search, name string) result.Finding {
	t.Helper()
	for _, f := range s.Findings {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no finding %q in %+v", name, s.Findings)
	return result.Finding{}
}

// number is a finding's value; 0 for none.
func number(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// tally counts how often a search was right, and how long it took.
type tally struct {
	right, all int
	took       time.Duration
}

func (n *tally) add(right bool) {
	n.all++
	if right {
		n.right++
	}
}

// expect logs the fraction of right answers and fails below least.
func (n *tally) expect(t *testing.T, what string, least float64) {
	t.Helper()
	share := float64(n.right) / float64(n.all)
	t.Logf("%s: %.1f %% of %d within the width; %.1f s of trials each", what, 100*share, n.all, n.took.Seconds()/float64(n.all))
	if share < least {
		t.Errorf("%s: %.1f %% are within the width of the truth, want %.1f %%", what, 100*share, 100*least)
	}
}

// near reports whether the bound that a search found is within width of the truth.
func near(low *float64, truth, width float64) bool {
	const rounding = 1.01
	return low != nil && *low >= truth*(1-width*rounding) && *low <= truth*(1+width*rounding)
}

func goals(names ...string) []*spec.Goal {
	var out []*spec.Goal
	for _, name := range names {
		out = append(out, &spec.Goal{Name: name})
	}
	return out
}

// none requests no latency under load.
var none = []float64{}

// TestMLRsearchFindsTheTruth compares each preset with the truth of devices. Without noise it must
// always match, except where a single lost packet moves a slow device's PDR by more than the width.
// With noise it must match in the fraction of cases that chance leaves: NDR and PDR take 21 trials
// for that; TST 009 two, of which one may be disturbed.
func TestMLRsearchFindsTheTruth(t *testing.T) {
	for _, test := range []struct {
		goals []string
		kind  simulate.Kind
		least float64
	}{
		{[]string{"ndr"}, simulate.Quiet, 1},
		{[]string{"ndr", "pdr"}, simulate.Quiet, 0.998},
		{[]string{"rfc2544"}, simulate.Quiet, 1},
		{[]string{"tst009"}, simulate.Quiet, 1},
		{[]string{"ndr", "pdr"}, simulate.Noisy, 0.97},
		{[]string{"tst009"}, simulate.Noisy, 0.9},
	} {
		counts := make([]tally, len(test.goals))
		for _, d := range simulate.Population(test.kind, devices, 1) {
			m := spec.Method{Kind: spec.MethodMLRsearch, Goals: goals(test.goals...), Loads: none}
			found := search(t, m, method.Setting{CeilingPPS: d.CeilingPPS()}, d)
			for i, name := range test.goals {
				g, _ := method.Preset(name)
				f := finding(t, found, g.Name)
				truth := d.Truth(g.LossRatio, g.ExceedRatio, g.FinalTrial)
				right := near(f.Low, truth, g.Width)
				counts[i].add(right)
				counts[i].took += time.Duration(found.MeasuringNs)
				if !right && test.least == 1 {
					t.Errorf("%s of %+v: from %g to %g, but the truth is %g", g.Name, d, number(f.Low), number(f.High), truth)
				}
				if low, v := number(f.Low), number(f.Value); v > low || v < low*(1-g.LossRatio) {
					t.Errorf("%s of %+v: a conditional throughput of %g at a load of %g", g.Name, d, v, low)
				}
				if low, high := number(f.Low), number(f.High); low >= high || (high-low)/high > g.Width*1.0001 {
					t.Errorf("%s of %+v: bounds %g and %g", g.Name, d, low, high)
				}
			}
			if !found.Conformant {
				t.Fatalf("not conformant: %v", found.Deviations)
			}
		}
		for i, name := range test.goals {
			counts[i].expect(t, []string{"quiet", "noisy"}[test.kind]+" "+name, test.least)
		}
	}
}

// TestTST009FindsTheTruth: two trials decide a rate, so a noisy device's result is usually, but not
// always, within its width.
func TestTST009FindsTheTruth(t *testing.T) {
	for kind, least := range map[simulate.Kind]float64{simulate.Quiet: 1, simulate.Noisy: 0.8} {
		var count tally
		for _, d := range simulate.Population(kind, devices, 2) {
			found := search(t, spec.Method{Kind: spec.MethodTST009, Loads: none}, method.Setting{CeilingPPS: d.CeilingPPS()}, d)
			f := finding(t, found, "throughput")
			count.add(near(f.Low, d.Truth(0, 0.5, time.Minute), method.DefaultWidth))
			count.took += time.Duration(found.MeasuringNs)
			if number(f.Value) != number(f.Low) {
				t.Errorf("%+v: throughput %g, but the lower bound is %g", d, number(f.Value), number(f.Low))
			}
		}
		count.expect(t, []string{"quiet", "noisy"}[kind]+" tst009", least)
	}
}

// TestMixedGoals: goals with trials of one second and of a minute share measurements; a bound of
// one serves the other, but each still gets its width.
func TestMixedGoals(t *testing.T) {
	for _, d := range simulate.Population(simulate.Noisy, 200, 3) {
		m := spec.Method{Kind: spec.MethodMLRsearch, Goals: goals("ndr", "pdr", "rfc2544", "tst009"), Loads: none}
		for _, f := range search(t, m, method.Setting{CeilingPPS: d.CeilingPPS()}, d).Findings {
			if f.Value == nil || (*f.High-*f.Low) / *f.High > method.DefaultWidth*1.0001 {
				t.Errorf("%s of %+v: %+v", f.Name, d, f)
			}
		}
	}
}

// TestGoalsOfDifferentWidths: a wide goal stops at its own width, on the narrow goal's rates.
func TestGoalsOfDifferentWidths(t *testing.T) {
	half := 0.5
	for _, d := range simulate.Population(simulate.Quiet, 200, 4) {
		m := spec.Method{Kind: spec.MethodMLRsearch, Loads: none, Goals: []*spec.Goal{
			{Name: "ndr", Width: 0.05}, {Name: "half lost", LossRatio: &half, Width: 0.01},
		}}
		found := search(t, m, method.Setting{CeilingPPS: 10 * d.CapacityPPS}, d)
		for i, want := range []struct{ loss, width float64 }{{0, 0.05}, {0.5, 0.01}} {
			if f, truth := found.Findings[i], d.Truth(want.loss, 0.5, time.Second); !near(f.Low, truth, want.width) {
				t.Errorf("%s of %+v: from %g to %g, but the truth is %g", f.Name, d, number(f.Low), number(f.High), truth)
			}
		}
	}
}
