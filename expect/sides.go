package expect

// Sides is what a duet tells of a quantity of its sides: b's less a's, and b's over a's. Both have bounds.
type Sides struct {
	Difference Interval
	// Ratio is nil where there is none, as a side has 0.
	Ratio *Interval
	// Least is the least difference that matters.
	Least float64
}

// Margin is what an expectation of a duet is decided by: a value of its subject against the other side, and its limit.
type Margin struct {
	Of    Interval
	Limit float64
	// Slack is the least difference that matters, where the expectation gives no margin of its own; else 0.
	Slack float64
	// Ratio is true for a ratio, and false for a difference.
	Ratio bool
}

// Margin returns what decides the expectation; false where there is no ratio.
func (s Sides) Margin(e Expectation) (Margin, bool) {
	difference, ratio := s.Difference, s.Ratio
	if e.Subject.Of == SideA {
		difference = difference.negative()
		ratio = ratio.inverse()
	}
	switch {
	case e.Bound.Factor != 1 && ratio == nil:
		return Margin{}, false
	case e.Bound.Factor != 1:
		return Margin{Of: *ratio, Limit: e.Bound.Factor, Ratio: true}, true
	case e.Bound.Constant == 0:
		return Margin{Of: difference, Slack: s.Least}, true
	}
	return Margin{Of: difference, Limit: e.Bound.Constant}, true
}

// negative is −i, of an interval with both bounds.
func (i Interval) negative() Interval {
	low, high := -*i.High, -*i.Low
	return Interval{-i.Value, &low, &high}
}

// inverse is 1/i; nil where i may be 0.
func (i *Interval) inverse() *Interval {
	if i == nil || *i.Low <= 0 {
		return nil
	}
	low, high := 1 / *i.High, 1 / *i.Low
	return &Interval{1 / i.Value, &low, &high}
}

// Decide takes b <= a as met where b is not above a by the least that matters, and b < a where it is below by that. Where
// the expectation gives a margin of its own (1.05 * a, a + 1us), the interval decides alone.
func (m Margin) Decide(o Operator) Decision {
	if !o.upper() {
		m.Of, m.Limit, o = m.Of.negative(), -m.Limit, o.swapped()
	}
	if m.Slack == 0 {
		return Decide(m.Of, o, Exact(m.Limit))
	}
	v, low, high := m.Of.Value, *m.Of.Low, *m.Of.High
	switch {
	case o == AtMost && high < m.Slack, o == Below && high < 0 && v <= -m.Slack:
		return Holds
	case o == AtMost && low > 0 && v >= m.Slack, o == Below && low > -m.Slack:
		return Violated
	}
	return Undecided
}
