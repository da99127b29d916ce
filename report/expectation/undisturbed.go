package expectation

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// seed is fixed, so that a result has the same decisions every time.
const seed = 1

// undisturbed is a percentile without the host's interruptions: the median of the trials with its interval, as the table
// tells it, which is at least as wide as most trials' own; of fewer than six trials it takes in those of all.
func undisturbed(k known, q expect.Quantity, group report.Group) known {
	trials := group.Trials
	var values, lows, highs []float64
	union := expect.Interval{}
	for i, t := range trials {
		p, why := undisturbedOf(t, q)
		if why != "" {
			k.problem = fmt.Sprintf("trial %s does not tell the %s: %s", t.ID, q.Name(), why)
			return k
		}
		values = append(values, float64(*p.ValueNs))
		lows, highs = append(lows, orElse(p.LowNs, 0)), append(highs, orElse(p.HighNs, math.Inf(1)))
		if one := bounded(lows[i], highs[i]); i == 0 {
			union = one
		} else {
			union = both(union, one)
		}
		for _, assumed := range t.Undisturbed.Assumed {
			if note := "assumed: " + assumed; !slices.Contains(k.notes, note) {
				k.notes = append(k.notes, note)
			}
		}
	}
	union.Value = result.Median(values)
	if len(values) >= steadyTrials {
		i := confidence.Median(values, seed)
		union = both(bounded(result.Median(lows), result.Median(highs)), expect.Interval{Low: i.Low, High: i.High})
		union.Value = i.Median
	}
	k.interval = func(level float64) expect.Interval { return widened(union, level) }
	k.what = fmt.Sprintf("the median of %s", terminal.Count(len(trials), "trial"))
	if len(trials) == 1 {
		k.what = "of 1 trial"
	}
	return k
}

// undisturbedOf is what a trial tells of a percentile, or why it does not.
func undisturbedOf(t result.Trial, q expect.Quantity) (*result.UndisturbedPercentile, string) {
	switch u := t.Undisturbed; {
	case u == nil:
		return nil, "its packets' times or the host's interruptions are not known"
	case u.Refused != "":
		return nil, u.Refused
	}
	for i := range t.Undisturbed.Percentiles {
		p := &t.Undisturbed.Percentiles[i]
		if p.Name != q.Figure {
			continue
		}
		if p.ValueNs == nil {
			return nil, p.Open
		}
		return p, ""
	}
	return nil, "results have it of p50, p90, p99, p99.9 and further nines only"
}

func orElse(ns *int64, other float64) float64 {
	if ns == nil {
		return other
	}
	return float64(*ns)
}

// bounded is an interval that is open above where its end is infinite.
func bounded(low, high float64) expect.Interval {
	i := expect.Interval{Low: &low, High: &high}
	if math.IsInf(high, 1) {
		i.High = nil
	}
	return i
}

// both is the interval that takes in two, and is open where one of them is.
func both(a, b expect.Interval) expect.Interval {
	if a.Low != nil && (b.Low == nil || *b.Low < *a.Low) {
		a.Low = b.Low
	}
	if a.High != nil && (b.High == nil || *b.High > *a.High) {
		a.High = b.High
	}
	return a
}

// widened is a 95 % interval at another level: each end moves as far as that of a normal distribution.
func widened(i expect.Interval, level float64) expect.Interval {
	further := distuv.UnitNormal.Quantile(1-(1-level)/2) / distuv.UnitNormal.Quantile(1-(1-confidence.Level)/2)
	move := func(end *float64) *float64 {
		if end == nil {
			return nil
		}
		v := i.Value + further*(*end-i.Value)
		return &v
	}
	return expect.Interval{Value: i.Value, Low: move(i.Low), High: move(i.High)}
}
