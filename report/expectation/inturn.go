package expectation

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// turns are the trials of a combination that have one value of a variable, and those that have another.
type turns struct{ subject, other report.Group }

// inTurn matches the trials with the subject's value of a variable with those that have the other's, among trials that
// meet the conditions.
func inTurn(e expect.Expectation, trials []result.Trial) ([]turns, error) {
	name, err := report.FindVariable(result.VariableNames(trials), e.Subject.Key)
	if err != nil {
		return nil, err
	}
	of := func(value string) ([]report.Group, error) {
		var kept []result.Trial
		for _, t := range trials {
			if result.FormatVariable(t.Variables[name]) == value {
				t.Variables = maps.Clone(t.Variables)
				delete(t.Variables, name)
				kept = append(kept, t)
			}
		}
		if len(kept) == 0 {
			return nil, exit.Wrongf("%s: no trial has %s=%s", e.Text, name, value)
		}
		return report.Groups(kept), nil
	}
	subjects, err := of(e.Subject.Value)
	if err != nil {
		return nil, err
	}
	others, err := of(e.Bound.Other.Value)
	if err != nil {
		return nil, err
	}
	var all []turns
	for _, subject := range subjects {
		pair := turns{subject: subject}
		for _, other := range others {
			if same(subject.Variables, other.Variables) {
				pair.other = other
			}
		}
		all = append(all, pair)
	}
	return all, nil
}

// telling is what a trial tells of a quantity, and what it could have been if the host had taken nothing of its time; or
// why it does not tell.
type telling func(q expect.Quantity, t result.Trial) (value, quiet float64, why string)

func (g *gatherer) told(q expect.Quantity, t result.Trial) (value, quiet float64, why string) {
	v, ok := figureOf(q).Of(t)
	if !ok {
		return 0, 0, untold(t, q)
	}
	return v, quietOf(g.result, q, t, v), ""
}

// judge decides by the ratio of the medians over the trials, with its bootstrap interval, where the trials ran in turn and
// are enough: the rules are those of 'nines compare'.
func (t turns) judge(e expect.Expectation, r *result.Result, told telling, l levels) Case {
	c := Case{Variables: t.subject.Variables, Decision: expect.Undecided}
	if len(t.other.Trials) == 0 {
		c.Because = fmt.Sprintf("no trial has %s=%s with the same values of the other variables", e.Subject.Key, e.Bound.Other.Value)
		return c
	}
	var values, quiet [2][]float64
	var suspect []string
	for i, group := range []report.Group{t.subject, t.other} {
		q := []expect.Quantity{e.Subject, *e.Bound.Other}[i]
		for _, trial := range group.Trials {
			if trial.Verdict == result.Invalid || trial.Verdict == result.Noisy && !countsNoisy(q) {
				continue
			}
			v, undisturbed, why := told(q, trial)
			if why != "" {
				c.Because = fmt.Sprintf("trial %s does not tell the %s: %s", trial.ID, q.Name(), why)
				return c
			}
			values[i], c.Trials = append(values[i], v), append(c.Trials, trial.ID)
			quiet[i] = append(quiet[i], undisturbed)
		}
		for _, text := range suspectOf(group, q) {
			suspect = append(suspect, fmt.Sprintf("%s=%s: %s", q.Key, q.Value, text))
		}
	}
	switch ratio := ratioOf(values, quiet); {
	case min(len(values[0]), len(values[1])) < steadyTrials:
		c.Because = strings.Join(append(suspect, fmt.Sprintf("a decision needs %d clean trials of each value, and there are %d and %d: set 'repeat'",
			steadyTrials, len(values[0]), len(values[1]))), "; ")
	case !report.RanInTurn(r, t.subject, t.other):
		c.Because = "the trials did not run in turn, and a drift of the host cannot be told from the difference: set 'order: interleaved'"
	case !ratio.Bounded():
		c.Because = "there is no ratio, as a median is 0"
	default:
		c.decideRatio(e, ratio, suspect, l)
	}
	if len(values[0]) > 0 && len(values[1]) > 0 {
		subject, bound := expect.Exact(result.Median(values[0])), expect.Exact(e.Bound.Factor*result.Median(values[1]))
		c.Subject, c.Bound = &subject, &bound
	}
	return c
}

// ratioOf is the ratio of the medians of the first values and the second. Where the host took time from trials, it is
// somewhere between that of what was measured and of what they could have reached without.
func ratioOf(values, quiet [2][]float64) confidence.Interval {
	ratio := confidence.Ratio(values[1], values[0], seed)
	if !ratio.Bounded() {
		return ratio
	}
	low, high := confidence.Ratio(quiet[1], values[0], seed), confidence.Ratio(values[1], quiet[0], seed)
	ratio.Low, ratio.High = low.Low, high.High
	return ratio
}

// decideRatio compares the ratio with the expectation's factor.
func (c *Case) decideRatio(e expect.Expectation, ratio confidence.Interval, suspect []string, l levels) {
	i := expect.Interval{Value: ratio.Median, Low: ratio.Low, High: ratio.High}
	limit := expect.Exact(e.Bound.Factor)
	c.Because = fmt.Sprintf("the ratio of the medians of %s is %.3f (%.3f to %.3f)", terminal.Count(len(c.Trials), "trial"), i.Value, *i.Low, *i.High)
	switch d := expect.Decide(i, e.Operator, limit); {
	case d == expect.Holds && len(suspect) == 0:
		c.Decision = expect.Holds
	case d == expect.Holds:
		c.Because, c.Notes = strings.Join(suspect, "; "), []string{remedyFor(e.Subject)}
	case expect.Decide(widened(i, l.violate), e.Operator, limit) == expect.Violated:
		c.Decision = expect.Violated
	default:
		c.Because += ", which includes the limit"
		toward := *i.High
		if i.Value > e.Bound.Factor {
			toward = *i.Low
		}
		if distance := math.Abs(i.Value - e.Bound.Factor); distance > 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("a decision would take about %s times the repeats", terminal.Digits(max(math.Pow((toward-i.Value)/distance, 2), 1.1), 2)))
		}
	}
}

// untold says why a trial does not tell a quantity.
func untold(t result.Trial, q expect.Quantity) string {
	if q.Figure == expect.Received {
		return "no packet was sent"
	}
	if q.Undisturbed {
		if _, why := undisturbedOf(t, q); why != "" {
			return why
		}
	}
	return "results have p50, p90, p99 and further nines, and too few packets may have been received"
}

// figureOf is the figure of a trial.
func figureOf(q expect.Quantity) report.Figure {
	switch {
	case q.Figure == expect.Loss:
		return report.RateFigures()[2]
	case q.Figure == expect.Received:
		return report.ReceivedFigure()
	case q.Undisturbed:
		return report.UndisturbedFigure(q.Figure)
	}
	return report.LatencyFigure(q.Figure)
}
