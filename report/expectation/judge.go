package expectation

import (
	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
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
	references, missing := newReferences(o.Reference), unmeasured(o)
	all, cases := make([][]decision, len(o.Asked)), 0
	for i, a := range o.Asked {
		var err error
		if all[i], err = decisionsOf(a.Expectation, g, references); err != nil {
			return js, err
		}
		cases += len(all[i])
	}
	levels := levels{hold: confidence.Level, violate: 1 - (1-confidence.Level)/float64(max(cases, 1))}
	for i, a := range o.Asked {
		j := Judgement{Asked: a, Decision: expect.Holds}
		for _, c := range missing {
			if meets(c.Variables, a.About()) {
				j.Cases, j.Decision = append(j.Cases, c), expect.Undecided
			}
		}
		for _, decide := range all[i] {
			c, err := decide(levels)
			if err != nil {
				return js, err
			}
			j.Cases, j.Decision = append(j.Cases, c), j.Decision.Worse(c.Decision)
		}
		js.List, js.Decision = append(js.List, j), js.Decision.Worse(j.Decision)
	}
	return js, nil
}

// decision decides an expectation for one combination.
type decision func(levels) (Case, error)

// decisionsOf are those on all combinations that an expectation is about.
func decisionsOf(e expect.Expectation, g *gatherer, references *references) (list []decision, err error) {
	if e.Subject.Searched() {
		found, err := searchesOf(g.result, e.Subject.Figure)
		if err != nil {
			return nil, err
		}
		return found.decisions(e)
	}
	trials, err := selected(g.result.Shown(), e.Where)
	if err != nil {
		return nil, err
	}
	if e.InTurn() {
		pairs, err := inTurn(e, trials)
		for _, pair := range pairs {
			list = append(list, func(l levels) (Case, error) { return pair.judge(e, g.result, g.told, l), nil })
		}
		return list, err
	}
	for _, group := range report.Groups(trials) {
		list = append(list, func(l levels) (Case, error) { return judge(e, g, group, references, l) })
	}
	return list, nil
}

// levels are how sure it must be that an expectation holds, and that it is violated.
type levels struct{ hold, violate float64 }

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
	subject, err := g.know(e.Subject, group, e.IsFact())
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
		return references.judge(c, e, group, subject, l)
	case other != nil:
		if bound, err = g.know(*other, group, e.IsFact()); err != nil {
			return c, err
		}
		// Two intervals hold together at this level.
		l.hold, l.violate = 1-(1-l.hold)/2, 1-(1-l.violate)/2
	}
	return decided(c, e, subject, bound, l), nil
}
