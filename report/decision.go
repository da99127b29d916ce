package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Difference says whether two sides differ.
type Difference string

// Whether B is above A is decided only where the trials can decide it (against). Elsewhere a difference is seen.
const (
	Higher    Difference = "higher" // B above A: the interval of the ratio is above 1
	Lower     Difference = "lower"
	Unclear   Difference = "unclear"   // the interval includes 1
	Undecided Difference = "undecided" // these trials cannot decide it
	Equal     Difference = "equal"     // the same in every repeat
	Unknown   Difference = "unknown"   // a side does not support the figure, or A is 0
)

// CompareOptions are what the user knows about the host.
type CompareOptions struct {
	// Steady is true if the user says that the host was the same for both results.
	Steady bool
	// Reference are runs of one experiment on different days: how much they differ is the yardstick for two results.
	Reference []*result.Result
}

// fewestTrials is how many valid trials a side needs. In simulation, of comparisons of A with A by the interval of the
// ratio, 31 to 35 % find a difference with two trials a side, 7 to 9 % with three, and 3 to 5 % with six
// (docs/statistics.md).
const fewestTrials = 6

// fewestDays is how many days a reference needs.
const fewestDays = 3

// drift is why results of different times decide nothing: with a drift from trial to trial, 30 to 52 % of comparisons
// of A with A find a difference, however many trials there are.
const drift = "not interleaved: a drift of the host cannot be told from the difference"

// timing is when the trials of the two sides ran.
type timing int

const (
	interleaved timing = iota
	apart              // one side after the other
	steady             // the same, but the host was steady, as the user says
)

// against says why the trials of a pair cannot decide; empty if they can. days is on how many the reference has this
// pair; −1 without a reference. The sides have these names.
func against(a, b Group, when timing, days int, names [2]string) []string {
	reasons := []string{}
	valid := [2]int{}
	for i, side := range []Group{a, b} {
		invalid := side.Verdicts()[result.Invalid]
		if invalid > 0 {
			reasons = append(reasons, fmt.Sprintf("%d of %s of %s %s invalid", invalid, terminal.Count(len(side.Trials), "trial"), names[i], isAre(invalid)))
		}
		valid[i] = len(side.Trials) - invalid
	}
	if min(valid[0], valid[1]) < fewestTrials {
		reasons = append(reasons, fmt.Sprintf("%s has %s and %s %d, and a decision needs %d a side: set 'repeat' to %d",
			names[0], terminal.Count(valid[0], "valid trial"), names[1], valid[1], fewestTrials, fewestTrials))
	}
	switch {
	case when != apart:
	case days < 0:
		reasons = append(reasons, drift)
	case days < fewestDays:
		reasons = append(reasons, fmt.Sprintf("the reference has valid trials of these variables on %s, and needs %d", terminal.Count(days, "day"), fewestDays))
	}
	return reasons
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// decide sets the verdict on a figure.
func (c *Compared) decide(against []string) {
	c.Verdict = Unknown
	switch {
	case c.A == nil || c.B == nil:
	case c.A.Min == c.A.Max && c.B.Min == c.B.Max && c.A.Min == c.B.Min:
		c.Verdict = Equal
	case c.Ratio == nil:
	case c.Interval == nil:
		c.Verdict = Undecided
	case c.Interval.Low <= 1 && c.Interval.High >= 1:
		c.Verdict = Unclear
	case len(against) > 0:
		c.Verdict = Undecided
	case *c.Ratio > 1:
		c.Verdict = Higher
	default:
		c.Verdict = Lower
	}
}

// Differs sums the figures of all pairs up: Higher or Lower if a difference is decided, Undecided if one is seen only,
// Unknown if nothing matches, and otherwise Unclear.
func (c Comparison) Differs() Difference {
	sum := Unclear
	if len(c.Pairs)+len(c.Findings) == 0 {
		return Unknown
	}
	for _, pair := range c.Pairs {
		for _, f := range pair.Figures {
			switch f.Verdict {
			case Higher, Lower:
				return f.Verdict
			case Undecided:
				sum = Undecided
			}
		}
	}
	return sum
}

// RanInTurn reports whether the trials of two sides of a result took turns, so that a drift of the host hit both alike.
func RanInTurn(r *result.Result, a, b Group) bool {
	place := map[string]int{}
	for i, t := range r.Summary.Trials {
		place[t.ID] = i
	}
	return alternate(a, b, place)
}

// alternate reports whether the trials of two sides took turns, at least once a trial of the smaller side on average:
// as a sweep with order: interleaved runs them, or a random order.
func alternate(a, b Group, place map[string]int) bool {
	type turn struct {
		place int
		ofA   bool
	}
	var turns []turn
	for _, t := range a.Trials {
		turns = append(turns, turn{place[t.ID], true})
	}
	for _, t := range b.Trials {
		turns = append(turns, turn{place[t.ID], false})
	}
	slices.SortFunc(turns, func(x, y turn) int { return x.place - y.place })
	stretches := 0
	for i := range turns {
		if i == 0 || turns[i].ofA != turns[i-1].ofA {
			stretches++
		}
	}
	return stretches > min(len(a.Trials), len(b.Trials))
}

// yardstick is how much runs of one experiment differ from day to day: of each combination of variables, a group for
// each day.
type yardstick map[string][]Group

// reference groups the trials of runs by their day, in UTC.
func reference(runs []*result.Result) yardstick {
	if len(runs) == 0 {
		return nil
	}
	byDay := map[string][]result.Trial{}
	var days []string
	for _, r := range runs {
		day := r.Summary.Started.UTC().Format("2006-01-02")
		if !slices.Contains(days, day) {
			days = append(days, day)
		}
		byDay[day] = append(byDay[day], r.Shown()...)
	}
	y := yardstick{}
	for _, day := range days {
		for _, g := range Groups(byDay[day]) {
			if !g.Invalid() {
				key := variableKey(g.Variables)
				y[key] = append(y[key], g)
			}
		}
	}
	return y
}

// widen makes the interval of a ratio at least as wide as two of the reference's runs differ by chance: their medians
// vary lognormally, so the ratio of two is within t·s·√2 of 1, where s is the deviation of the logarithms and t the
// quantile of Student's distribution. It takes the interval away if the figure has no logarithm.
func (c *Compared) widen(runs []Group) {
	if len(runs) < fewestDays || c.Interval == nil {
		return
	}
	var logs []float64
	for _, g := range runs {
		values, ok := g.Values(c.Figure)
		if !ok || result.Median(values) <= 0 {
			c.Interval = nil
			return
		}
		logs = append(logs, math.Log(result.Median(values)))
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(len(logs) - 1)}.Quantile(1 - (1-confidence.Level)/2)
	half := t * deviation(logs) * math.Sqrt2
	c.Interval = &Interval{Low: min(c.Interval.Low, *c.Ratio*math.Exp(-half)), High: max(c.Interval.High, *c.Ratio*math.Exp(half))}
}

// deviation is the standard deviation of a sample.
func deviation(values []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(values)-1))
}
