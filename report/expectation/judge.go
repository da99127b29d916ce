package expectation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Judge decides all expectations. Its error is that of a wrong call, such as a condition that no trial meets, or of files
// that cannot be read.
//
// An expectation is wrongly said to hold in at most 2.5 % of cases, as it must hold for every combination (an
// intersection-union test: Berger 1982, "Multiparameter hypothesis testing and acceptance sampling"). Of expectations that
// all hold, any is said to be violated in at most 2.5 %: each combination has an equal share of that (Bonferroni).
func Judge(o Options) (Judgements, error) { return judgeAll(o, newGatherer(o.Result)) }

func judgeAll(o Options, g *gatherer) (Judgements, error) {
	js := Judgements{Name: o.Result.Summary.Name, Dir: o.Result.Dir, Started: o.Result.Summary.Started, Decision: expect.Holds}
	for _, t := range o.Result.Shown() {
		js.TrafficNs += g.trafficNs(t)
	}
	var of [][]report.Group
	cases := 0
	for _, a := range o.Asked {
		groups, err := selected(o.Result, a.Where)
		if err != nil {
			return js, err
		}
		of, cases = append(of, groups), cases+len(groups)
	}
	levels := levels{hold: confidence.Level, violate: 1 - (1-confidence.Level)/float64(max(cases, 1))}
	references := newReferences(o.Reference)
	missing := unmeasured(o)
	for i, a := range o.Asked {
		j := Judgement{Asked: a, Decision: expect.Holds}
		for _, c := range missing {
			if meets(c.Variables, a.Where) {
				j.Cases, j.Decision = append(j.Cases, c), expect.Undecided
			}
		}
		for _, group := range of[i] {
			c, err := judge(a.Expectation, g, group, references, levels)
			if err != nil {
				return js, err
			}
			j.Cases, j.Decision = append(j.Cases, c), j.Decision.Worse(c.Decision)
		}
		js.List, js.Decision = append(js.List, j), js.Decision.Worse(j.Decision)
	}
	return js, nil
}

// levels are how sure it must be that an expectation holds, and that it is violated.
type levels struct{ hold, violate float64 }

// known is what is known of a quantity.
type known struct {
	// interval is that at a level; nil where nothing is known, and problem says why.
	interval func(level float64) expect.Interval
	problem  string
	// suspect says why the trials cannot show that an expectation holds; disturbed is true where they show nothing, as the
	// host disturbed all of them.
	suspect   []string
	disturbed bool
	// trials are the IDs of those that count.
	trials []string
	notes  []string
	// what is in words, such as "p99 of 600,000 packets of 6 trials".
	what string
	// clusters is how many independent events lie beyond a percentile; 0 where that plays no part.
	clusters float64
	// few is how many times as many packets the quantity needs to be known at all; 0: there are enough.
	few float64
	// packets and trafficNs are what was measured.
	packets   uint64
	trafficNs int64
}

// judge decides an expectation for a combination.
func judge(e expect.Expectation, g *gatherer, group report.Group, references *references, l levels) (Case, error) {
	c := Case{Variables: group.Variables, Decision: expect.Undecided}
	if e.Duet() {
		return duetCase(c, e, group)
	}
	for _, t := range group.Trials {
		if t.Duet != nil {
			return c, exit.Wrongf("%s: the trial is a duet: say whose it is, such as b.%s <= 1.05 * a.%[2]s", e.Text, e.Subject.Name())
		}
	}
	subject, err := g.know(e.Subject, group)
	if err != nil {
		return c, err
	}
	c.Trials = subject.trials
	if e.Operator == expect.Equal && subject.problem == "" { // a fact
		value := subject.interval(l.hold).Value
		subject.interval = func(float64) expect.Interval { return expect.Exact(value) }
	}
	bound := known{interval: func(float64) expect.Interval { return expect.Exact(e.Bound.Constant) }}
	switch other := e.Bound.Other; {
	case other != nil && other.Of == expect.Reference:
		return references.judge(c, e, g, group, subject, l)
	case other != nil:
		if bound, err = g.know(*other, group); err != nil {
			return c, err
		}
		// Two intervals hold together at this level.
		l.hold, l.violate = 1-(1-l.hold)/2, 1-(1-l.violate)/2
	}
	return decided(c, e, subject, bound, l), nil
}

// decided compares what is known.
func decided(c Case, e expect.Expectation, subject, bound known, l levels) Case {
	c.Notes = slices.Concat(subject.notes, bound.notes)
	for _, one := range []known{subject, bound} {
		if one.problem != "" {
			c.Because = one.problem
			if one.few > 0 {
				c.Needs = one.needs(one.few)
			}
			return c
		}
	}
	at := func(level float64) (expect.Interval, expect.Interval) {
		s, b := subject.interval(level), bound.interval(level)
		if e.Bound.Other != nil {
			b = e.Bound.Bounded(b)
		}
		return s, b
	}
	s, b := at(l.hold)
	c.Subject, c.Bound = &s, &b
	suspect := distinct(slices.Concat(subject.suspect, bound.suspect))
	switch first := expect.Decide(s, e.Operator, b); {
	case first == expect.Holds && len(suspect) == 0:
		c.Decision, c.Because = expect.Holds, subject.what
	case first == expect.Holds, subject.disturbed, bound.disturbed:
		c.Because = strings.Join(suspect, "; ") + remedyFor(e.Subject)
		if e.Subject.P == 0 {
			c.Because = subject.what + ", but " + c.Because
		}
	case violated(at, e.Operator, l.violate):
		c.Decision, c.Because = expect.Violated, subject.what
	default:
		c.Because, c.Needs = open(s, b, e.Operator, subject)
	}
	return c
}

// remedyFor says what to expect instead where the host disturbs trials.
func remedyFor(q expect.Quantity) string {
	if q.P == 0 {
		return "; see 'nines doctor'"
	}
	return fmt.Sprintf("; expect undisturbed.%s, compare two versions as a duet, or see 'nines doctor'", q.Name())
}

func distinct(texts []string) []string {
	var list []string
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// violated reports whether the two sides are apart at a level.
func violated(at func(level float64) (expect.Interval, expect.Interval), o expect.Operator, level float64) bool {
	s, b := at(level)
	return expect.Decide(s, o, b) == expect.Violated
}

// mostTimes is the most traffic that is told as what a decision would take, as a multiple of what was measured.
const mostTimes = 1e4

// open says why two intervals do not decide, and about what it would take.
func open(s, b expect.Interval, o expect.Operator, subject known) (string, *Needs) {
	if s.Low == nil && s.High == nil {
		return "there is no interval", nil
	}
	const fewestClusters = 4 // beyond a percentile, for an upper end (package confidence)
	distance := math.Abs(b.Value - s.Value)
	ends := [2]float64{distance, distance}
	for i, end := range []*float64{s.Low, s.High} {
		if end != nil {
			ends[i] = math.Abs(*end - s.Value)
		}
	}
	upper := o == expect.Below || o == expect.AtMost
	toward := ends[0] // the end that reaches beyond the bound
	if s.Value < b.Value {
		toward = ends[1]
	}
	why := "the interval includes the limit"
	times := math.Pow(toward/distance, 2)
	if s.High == nil && s.Value < b.Value && upper {
		why = "nothing bounds it from above, as too few clusters of slow packets lie beyond"
		times = max(times, fewestClusters/max(subject.clusters, 0.01))
	}
	if distance == 0 || times > mostTimes {
		return why + fmt.Sprintf(", and the value is too near the limit to be told apart from it by less than %s times the traffic", terminal.Grouped(mostTimes)), nil
	}
	return why, subject.needs(max(times, 1.1))
}

// needs is that of so many times as much traffic.
func (k known) needs(times float64) *Needs {
	return &Needs{Times: times, Packets: uint64(times * float64(k.packets)), TrafficNs: int64(times * float64(k.trafficNs))}
}

// selected are the combinations whose variables meet all conditions.
func selected(r *result.Result, where []expect.Condition) ([]report.Group, error) {
	trials := r.Shown()
	names := result.VariableNames(trials)
	for _, c := range where {
		name, err := report.FindVariable(names, c.Key)
		if err != nil {
			return nil, err
		}
		var kept []result.Trial
		var seen []string
		for _, t := range trials {
			value := result.FormatVariable(t.Variables[name])
			if !slices.Contains(seen, value) {
				seen = append(seen, value)
			}
			if slices.Contains(c.Values, value) {
				kept = append(kept, t)
			}
		}
		if len(kept) == 0 {
			return nil, exit.Wrongf("where %s: no trial has that; the values are %s", c, terminal.Plain(strings.Join(seen, ", ")))
		}
		trials = kept
	}
	return report.Groups(trials), nil
}
