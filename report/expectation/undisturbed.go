package expectation

import (
	"fmt"
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
// tells it; of fewer than six trials the interval takes in those of all.
func undisturbed(k known, q expect.Quantity, group report.Group) known {
	trials := group.Trials
	var values []float64
	union := expect.Interval{}
	for i, t := range trials {
		p, why := undisturbedOf(t, q)
		if why != "" {
			k.problem = fmt.Sprintf("trial %s does not tell the %s: %s", t.ID, q.Name(), why)
			return k
		}
		values = append(values, float64(*p.ValueNs))
		one := expect.Interval{Low: float(p.LowNs), High: float(p.HighNs)}
		if i == 0 {
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
		union.Low, union.High = i.Low, i.High
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

func float(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	v := float64(*ns)
	return &v
}

// both is the interval that takes in two.
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
