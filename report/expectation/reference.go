package expectation

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// fewestDays is how many days references need, so that they tell how much days differ.
const fewestDays = 3

// references are results that expectations compare with.
type references struct {
	of     []*gatherer
	groups [][]report.Group
}

func newReferences(results []*result.Result) *references {
	r := &references{}
	for _, one := range results {
		r.of, r.groups = append(r.of, newGatherer(one)), append(r.groups, report.Groups(one.Shown()))
	}
	return r
}

// judge decides against the references. A host drifts from one time to another, so a single one decides nothing: of
// comparisons of a version with itself, 30 to 52 % would find a difference (docs/statistics.md). References of three or
// more days tell how much days differ.
func (r *references) judge(c Case, e expect.Expectation, group report.Group, subject known, l levels) (Case, error) {
	if len(r.of) == 0 {
		c.Because = "there is no reference"
		return c, nil
	}
	days, problem, err := r.days(*e.Bound.Other, group.Variables, l.hold)
	switch {
	case err != nil:
		return c, err
	case len(days) == 0:
		c.Because = "the reference has no trial of these variables"
		return c, nil
	case len(days) < fewestDays:
		c.Subject, c.Bound = sideBySide(e, subject, days, l.hold)
		c.Because = fmt.Sprintf("the reference is of another time (%s), and a drift of the host cannot be told from a difference: "+
			"compare the two versions side by side by 'nines duet', or in turn in one sweep (p99(KEY=NEW) <= 1.1 * p99(KEY=OLD)), or give references of %d days or more",
			strings.Join(slices.Sorted(maps.Keys(days)), ", "), fewestDays)
		return c, nil
	case problem != "":
		c.Because = problem
		return c, nil
	}
	y := yardstickOf(days)
	subject.interval = y.widened(subject.interval)
	subject.what += fmt.Sprintf(", against references of %s, whose spread is in the interval", terminal.Count(y.days, "day"))
	bound := known{interval: func(float64) expect.Interval { return expect.Exact(y.mean) }}
	return decided(c, e, subject, bound, l), nil
}

// days are what the references tell of a quantity on each of their days, and why one of them tells nothing.
func (r *references) days(q expect.Quantity, variables map[string]any, level float64) (days map[string][]float64, problem string, err error) {
	days = map[string][]float64{}
	for i, of := range r.of {
		at := slices.IndexFunc(r.groups[i], func(other report.Group) bool { return same(other.Variables, variables) })
		if at < 0 {
			continue
		}
		k, err := of.know(q, r.groups[i][at], false)
		if err != nil {
			return nil, "", err
		}
		if k.disturbed {
			k.problem = strings.Join(k.suspect, "; ")
		}
		var values []float64
		if k.problem != "" {
			problem = of.result.Dir + ": " + k.problem
		} else {
			values = append(values, k.interval(level).Value)
		}
		day := of.result.Summary.Started.UTC().Format("2006-01-02")
		days[day] = append(days[day], values...)
	}
	return days, problem, nil
}

// sideBySide are the values of a result and of its references, where these decide nothing.
func sideBySide(e expect.Expectation, subject known, days map[string][]float64, level float64) (s, b *expect.Interval) {
	all := slices.Concat(slices.Collect(maps.Values(days))...)
	if subject.problem != "" || len(all) == 0 {
		return nil, nil
	}
	measured, limit := subject.interval(level), e.Bound.Bounded(expect.Exact(result.Median(all)))
	return &measured, &limit
}

func same(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(x, y any) bool { return result.FormatVariable(x) == result.FormatVariable(y) })
}

// yardstick is how much a quantity differs from day to day, lognormally: the geometric mean of some days, and the
// deviation of their logarithms.
type yardstick struct {
	mean, deviation float64
	days            int
}

func yardstickOf(days map[string][]float64) yardstick {
	var logs []float64
	for _, day := range slices.Sorted(maps.Keys(days)) {
		logs = append(logs, math.Log(result.Median(days[day])))
	}
	return yardstick{math.Exp(stat.Mean(logs, nil)), stat.StdDev(logs, nil), len(logs)}
}

// widened makes an interval at least as wide as one more day differs from the mean of the others by chance, which is
// within t·s·√(1 + 1/n) of it.
func (y yardstick) widened(of func(level float64) expect.Interval) func(level float64) expect.Interval {
	return func(level float64) expect.Interval {
		i := of(level)
		t := distuv.StudentsT{Sigma: 1, Nu: float64(y.days - 1)}.Quantile(1 - (1-level)/2)
		return atLeast(i, t*y.deviation*math.Sqrt(1+1/float64(y.days)))
	}
}
