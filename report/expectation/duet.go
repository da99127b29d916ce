package expectation

import (
	"fmt"
	"math"
	"slices"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// duetCase decides by the joint intervals of a duet, whose sides met the same host.
func duetCase(c Case, e expect.Expectation, group report.Group) (Case, error) {
	at := slices.IndexFunc(group.Trials, func(t result.Trial) bool { return t.Duet != nil })
	if at < 0 {
		return c, exit.Wrongf("%s: %s is of a side, and the result is no duet: measure one by 'nines duet'", e.Text, e.Subject)
	}
	t := group.Trials[at]
	c.Trials = []string{t.ID}
	switch {
	case t.Duet.Open != "":
		c.Because = t.Duet.Open
		return c, nil
	case e.IsFact():
		return duetFact(c, e, t), nil
	}
	at = slices.IndexFunc(t.Duet.Comparisons, func(d result.DuetComparison) bool { return d.Quantity == e.Subject.Name() })
	if at < 0 {
		c.Because = "a duet compares p50, p90, p99 and p99.9, each also undisturbed, and loss: not " + e.Subject.Name()
		return c, nil
	}
	d := t.Duet.Comparisons[at]
	if d.A == nil || d.B == nil || d.Difference == nil {
		c.Because = d.Why
		c.Needs = needsOf(d, t.Duet, t)
		return c, nil
	}
	values := []*float64{d.A, d.B}
	if e.Subject.Of == expect.SideB {
		slices.Reverse(values)
	}
	subject, bound := expect.Interval{Value: *values[0]}, expect.Interval{Value: e.Bound.Factor**values[1] + e.Bound.Constant}
	c.Subject, c.Bound = &subject, &bound
	m, ok := sidesOf(t.Duet, d).Margin(e)
	if !ok {
		c.Because = "there is no ratio, as a side has 0"
		return c, nil
	}
	if c.Decision = m.Decide(e.Operator); c.Decision == expect.Undecided {
		c.Needs = needsFor(m, t)
	}
	c.Because = marginText(e, m, c.Decision)
	return c, nil
}

// sidesOf is what a duet tells of a quantity.
func sidesOf(of *result.Duet, d result.DuetComparison) expect.Sides {
	return expect.Sides{Difference: *intervalOf(d.Difference), Ratio: intervalOf(d.Ratio), Least: leastOf(of, d)}
}

func intervalOf(b *result.Bounded) *expect.Interval {
	if b == nil {
		return nil
	}
	return &expect.Interval{Value: b.Value, Low: &b.Low, High: &b.High}
}

// leastOf is the least difference that matters. The duet has that of a latency; of a loss it is that of package duet.
func leastOf(d *result.Duet, of result.DuetComparison) float64 {
	if of.Quantity == expect.Loss {
		return 0.0001
	}
	return max(d.Least.Share**of.A, float64(d.Least.LatencyNs))
}

// marginText says what decided, or left open.
func marginText(e expect.Expectation, m expect.Margin, d expect.Decision) string {
	what, number := "the difference", func(v float64) string { return quantityText(v, e.Subject.Dimension()) }
	if m.Ratio {
		what, number = "the ratio", func(v float64) string { return fmt.Sprintf("%.3f", v) }
	}
	if d == expect.Undecided {
		return fmt.Sprintf("%s can be anything from %s to %s", what, number(*m.Of.Low), number(*m.Of.High))
	}
	text := fmt.Sprintf("%s is %s (%s to %s)", what, number(m.Of.Value), number(*m.Of.Low), number(*m.Of.High))
	if m.Slack > 0 {
		text += ", and the least that matters " + number(m.Slack)
	}
	return text
}

// needsFor is about how long it would take until the interval is short enough: it shrinks with the root of the time.
func needsFor(m expect.Margin, t result.Trial) *Needs {
	enough := math.Abs(m.Of.Value - m.Limit)
	if m.Slack > 0 {
		enough = max(enough, m.Slack-math.Abs(m.Of.Value))
	}
	half := max(m.Of.Value-*m.Of.Low, *m.Of.High-m.Of.Value)
	times := math.Pow(half/enough, 2)
	if enough == 0 || times > mostTimes || t.Duet.TrafficNs == 0 {
		return nil
	}
	return sidedNeeds(max(times, 1.1), t)
}

func sidedNeeds(times float64, t result.Trial) *Needs {
	return &Needs{Times: times, Packets: uint64(times * float64(t.TxPackets)), TrafficNs: int64(times * float64(t.Duet.TrafficNs))}
}

// needsOf is what the duet itself says of a comparison that has no interval.
func needsOf(c result.DuetComparison, d *result.Duet, t result.Trial) *Needs {
	if c.NeedsNs == 0 || d.TrafficNs == 0 {
		return nil
	}
	return sidedNeeds(float64(c.NeedsNs)/float64(d.TrafficNs), t)
}

// duetFact compares counts and extremes of the sides.
func duetFact(c Case, e expect.Expectation, t result.Trial) Case {
	of := func(q expect.Quantity) (float64, bool) {
		for _, s := range t.Streams {
			if s.Name == string(q.Of) {
				v, figure := result.Trial{LostPackets: s.LostPackets, DuplicatePackets: s.DuplicatePackets, ReorderedPackets: s.ReorderedPackets, Latency: s.Latency}, q
				if q.Figure == expect.Loss {
					figure.Figure = expect.Lost
				}
				return factOf(figure, v), true
			}
		}
		return 0, false
	}
	value, ok := of(e.Subject)
	bound := expect.Exact(e.Bound.Constant)
	if other := e.Bound.Other; other != nil && ok {
		var v float64
		v, ok = of(*other)
		bound = e.Bound.Bounded(expect.Exact(v))
	}
	if !ok {
		c.Because = "the trial has no figures of its sides"
		return c
	}
	subject := expect.Exact(value)
	c.Subject, c.Bound = &subject, &bound
	c.Decision, c.Because = expect.Decide(subject, e.Operator, bound), "in the trial made"
	c.Notes = []string{"it is a fact about the trial made, and bounds nothing else"}
	if c.Decision == expect.Holds && t.Verdict == result.Invalid {
		c.Decision, c.Because = expect.Undecided, "the trial is invalid"
	}
	return c
}
