package expect

// Decision is what is known of an expectation.
type Decision string

// The decisions. What is violated counts more than what is undecided, and that more than what holds.
const (
	Holds     Decision = "holds"
	Violated  Decision = "violated"
	Undecided Decision = "undecided"
)

// Worse is the decision of two expectations together.
func (d Decision) Worse(other Decision) Decision {
	for _, one := range []Decision{Violated, Undecided} {
		if d == one || other == one {
			return one
		}
	}
	return Holds
}

// Interval is a value with its bounds, which are nil where nothing bounds it.
type Interval struct {
	Value     float64
	Low, High *float64
}

// Exact is the interval of a value that is known.
func Exact(v float64) Interval { return Interval{v, &v, &v} }

// Scaled is factor · i + constant, of a factor above 0.
func (i Interval) Scaled(factor, constant float64) Interval {
	scaled := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		out := factor**v + constant
		return &out
	}
	return Interval{factor*i.Value + constant, scaled(i.Low), scaled(i.High)}
}

// Bounded is the interval that a bound has, where other is that of its quantity.
func (b Bound) Bounded(other Interval) Interval {
	if b.Other == nil {
		return Exact(b.Constant)
	}
	return other.Scaled(b.Factor, b.Constant)
}

// Decide compares two intervals. It says that the expectation holds if it does for all values of both, and that it is
// violated if it does for none.
func Decide(subject Interval, o Operator, bound Interval) Decision {
	switch {
	case o == Equal:
		if subject.Value == bound.Value {
			return Holds
		}
		return Violated
	case !o.upper():
		return Decide(bound, o.swapped(), subject)
	case below(subject.High, o, bound.Low):
		return Holds
	case subject.Low != nil && bound.High != nil && !below(subject.Low, o, bound.High):
		return Violated
	}
	return Undecided
}

// below reports whether a value is below another, or equal where that is enough; false where one is not bounded.
func below(v *float64, o Operator, bound *float64) bool {
	return v != nil && bound != nil && (*v < *bound || o == AtMost && *v == *bound)
}
