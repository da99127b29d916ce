package method

import (
	"math"
	"testing"
	"time"
)

// trials makes trials from pairs of seconds and loss.
func trials(pairs ...float64) []measured {
	var out []measured
	for i := 0; i < len(pairs); i += 2 {
		const intended = 100_000
		lost := uint64(math.Round(pairs[i+1] * intended))
		out = append(out, measured{Outcome{Intended: intended, Received: intended - lost}, time.Duration(pairs[i] * float64(time.Second))})
	}
	return out
}

// many repeats a trial.
func many(n int, seconds, loss float64) []measured {
	var out []measured
	for range n {
		out = append(out, trials(seconds, loss)...)
	}
	return out
}

func both(a, b []measured) []measured { return append(append([]measured{}, a...), b...) }

// TestClassify checks the formulas of RFC 9971, appendix A, worked out by hand.
func TestClassify(t *testing.T) {
	second, minute := time.Second, time.Minute
	ndr := target{lossRatio: 0, exceedRatio: 0.5, trial: second, sum: 21 * second}
	strict := target{lossRatio: 0, exceedRatio: 0, trial: minute, sum: minute}
	tst009 := target{lossRatio: 0, exceedRatio: 0.5, trial: minute, sum: 2 * minute}
	quarter := target{lossRatio: 0.01, exceedRatio: 0.25, trial: 10 * second, sum: 40 * second}
	for name, test := range map[string]struct {
		target target
		trials []measured
		want   class
	}{
		"nothing measured": {ndr, nil, undecided},
		// W = 21; W − fullLow = 11 > 10.5, and H = 0.
		"10 of 21 low": {ndr, many(10, 1, 0), undecided},
		// W − fullLow = 10 ≤ 10.5.
		"11 of 21 low":               {ndr, many(11, 1, 0), lower},
		"11 low, 10 high":            {ndr, both(many(11, 1, 0), many(10, 1, 0.1)), lower},
		"10 high":                    {ndr, many(10, 1, 0.1), undecided},
		"11 high":                    {ndr, many(11, 1, 0.1), upper},
		"10 low, 11 high":            {ndr, both(many(10, 1, 0), many(11, 1, 0.1)), upper},
		"more than the sum, half":    {ndr, both(many(20, 1, 0), many(20, 1, 0.1)), lower},
		"more than the sum, no half": {ndr, both(many(20, 1, 0), many(21, 1, 0.1)), upper},
		// Without exceeding, one lossy trial of any length is enough; a short good trial is not.
		"strict, short high": {strict, trials(1, 0.001), upper},
		"strict, short low":  {strict, trials(1, 0), undecided},
		"strict, full low":   {strict, trials(60, 0), lower},
		"strict, both":       {strict, trials(60, 0, 1, 0.001), upper},
		// TST 009: one full trial without loss passes, the second with loss fails.
		"tst009, one low":                 {tst009, trials(60, 0), lower},
		"tst009, one high":                {tst009, trials(60, 0.1), undecided},
		"tst009, two high":                {tst009, trials(60, 0.1, 60, 0.1), upper},
		"tst009, high then low":           {tst009, trials(60, 0.1, 60, 0), lower},
		"tst009, one high, short high":    {tst009, trials(60, 0.1, 1, 0.1), upper},
		"tst009, short low balances high": {tst009, trials(60, 0.1, 1, 0.1, 1, 0), undecided},
		// e = 0.25: 6 s of short good trials excuse 6·0.25/0.75 = 2 s of short lossy ones.
		"quarter, excused":     {quarter, trials(6, 0, 2, 0.5, 10, 0.5), undecided},
		"quarter, not excused": {quarter, trials(6, 0, 3, 0.5, 10, 0.5), upper},
		"quarter, low":         {quarter, trials(10, 0.01, 10, 0.005, 10, 0), lower},
		"quarter, at its loss": {quarter, trials(40, 0.01), lower},
		"quarter, above it":    {quarter, trials(40, 0.0101), upper},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.target.classify(test.trials); got != test.want {
				t.Errorf("class %d, want %d (0 undecided, 1 lower, 2 upper)", got, test.want)
			}
		})
	}
}

// TestConditionalThroughput checks RFC 9971, appendix B, worked out by hand.
func TestConditionalThroughput(t *testing.T) {
	half := target{lossRatio: 0.5, exceedRatio: 0.5, trial: time.Second, sum: 4 * time.Second}
	strict := target{exceedRatio: 0, trial: time.Minute, sum: time.Minute}
	for name, test := range map[string]struct {
		target target
		trials []measured
		want   float64
	}{
		"no loss":                  {strict, trials(60, 0), 100},
		"the worst half is not":    {half, trials(1, 0.4, 1, 0.1, 1, 0.3, 1, 0.2), 80},
		"a trial in part counts":   {half, trials(1, 0.4, 1, 0.1, 1, 0.3, 1, 0.2, 1, 0.5), 70},
		"short trials do not":      {half, both(trials(1, 0.1, 1, 0.1, 1, 0.2, 1, 0.2), many(9, 0.5, 1)), 90},
		"time that was not tried":  {half, trials(1, 0), 0},
		"just enough, not ordered": {half, trials(1, 0.2, 1, 0.1), 80},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := test.target.throughput(100, test.trials); math.Abs(got-test.want) > 1e-9 {
				t.Errorf("%g, want %g", got, test.want)
			}
		})
	}
}

// TestTenthsOfSeconds: no binary fraction equals 0.1 s, but enough such trials must cover the
// required time exactly; a missing rest would count as lost.
func TestTenthsOfSeconds(t *testing.T) {
	for n := 1; n <= 100; n++ {
		strict := target{trial: time.Second / 10, sum: time.Duration(n) * time.Second / 10}
		trials := many(n, 0.1, 0)
		if got := strict.classify(trials); got != lower {
			t.Errorf("%d trials of 0.1 s without loss: class %d, want a lower bound", n, got)
		}
		if got, _ := strict.throughput(100, trials); got != 100 {
			t.Errorf("%d trials of 0.1 s without loss: a throughput of %g, want 100", n, got)
		}
	}
}

func TestLadder(t *testing.T) {
	l := newLadder(Range{MinPPS: 10, MaxPPS: 1e6, Width: 0.01})
	if l.rate(0) != 1e6 || l.rate(l.rungs-1) != 10 {
		t.Errorf("from %g to %g", l.rate(0), l.rate(l.rungs-1))
	}
	for rung := 1; rung < l.rungs; rung++ {
		if high, low := l.rate(rung-1), l.rate(rung); low >= high || (high-low)/high > 0.01+1e-9 {
			t.Fatalf("rungs %d and %d: %g, %g", rung-1, rung, high, low)
		}
		if got := l.below(l.rate(rung)); got != rung {
			t.Fatalf("the rate of rung %d is found at %d", rung, got)
		}
		if got := l.below((l.rate(rung-1) + l.rate(rung)) / 2); got != rung {
			t.Fatalf("a rate above rung %d is found at %d", rung, got)
		}
	}
	for _, rate := range []float64{math.NaN(), math.Inf(-1), -1, 0, 5} {
		if got := l.below(rate); got != l.rungs-1 {
			t.Errorf("%g is found at %d", rate, got)
		}
	}
	for _, rate := range []float64{2e6, math.Inf(1)} {
		if got := l.below(rate); got != 0 {
			t.Errorf("%g is found at %d", rate, got)
		}
	}
	if got := l.steps(0.02); got != 2 {
		t.Errorf("twice the width is %d steps", got)
	}
}
