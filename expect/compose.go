package expect

import (
	"fmt"
	"math"
)

// compose makes the expectation of its two sides, with the quantity that something is expected of on the left.
func (e *Expectation) compose(left side, operator Operator, at int, right side) error {
	if left.quantity == nil && right.quantity == nil {
		return &Error{At: left.at, Problem: "nothing measured is compared", Remedy: "write such as p99 < 100us"}
	}
	if left.quantity == nil {
		left, right, operator = right, left, operator.swapped()
	}
	// Both sides of a duet, and a result against its reference, are a ratio: the subject stands alone.
	if right.quantity != nil && left.quantity.Of == Reference && right.quantity.Of != Reference {
		left, right, operator = right, left, operator.swapped()
	}
	if left.factor <= 0 || right.quantity != nil && right.factor <= 0 {
		return &Error{At: at, Problem: "a quantity is multiplied by a number above 0, and neither subtracted"}
	}
	e.Subject, e.Operator = *left.quantity, operator
	e.Bound = Bound{Factor: right.factor / left.factor, Other: right.quantity, Constant: (right.constant - left.constant) / left.factor}
	if right.quantity == nil {
		e.Bound.Factor = 0
		if s := e.Subject; s.Figure == Loss && operator == AtMost && e.Bound.Constant == 0 {
			e.Operator = Equal // a share is never below 0
		}
	}
	if math.IsInf(e.Bound.Factor, 0) || math.IsInf(e.Bound.Constant, 0) || math.IsNaN(e.Bound.Constant) {
		return &Error{At: at, Problem: "a number is too large"}
	}
	for _, one := range []side{left, right} {
		if err := e.fits(one); err != nil {
			return err
		}
	}
	return e.comparable(at, right)
}

// fits checks the unit of a side's number against what the subject is counted in.
func (e *Expectation) fits(s side) error {
	want := e.Subject.Dimension()
	if s.quantity != nil && (s.quantity.Dimension() != want || s.quantity.family() != e.Subject.family()) {
		return &Error{At: s.at, Problem: fmt.Sprintf("%s and %s cannot be compared", e.Subject.Name(), s.quantity.Name())}
	}
	if !s.isNumber || s.constant == 0 && !s.hasUnit {
		return nil
	}
	switch {
	case want == Time && !s.hasUnit:
		return &Error{At: s.at, Problem: "a time needs a unit", Remedy: "write such as 100us, 1.5ms or 250ns"}
	case want == Rate && !s.hasUnit:
		return &Error{At: s.at, Problem: "a rate needs a unit", Remedy: "write such as 5Mpps or 200kpps"}
	case want == Time && s.dimension != Time, want == Rate && s.dimension != Rate, want == Fraction && s.hasUnit && s.dimension != Fraction, want == Count && s.hasUnit && s.dimension != Count:
		return &Error{At: s.at, Problem: fmt.Sprintf("%s has another unit", e.Subject.Name()), Remedy: map[Dimension]string{
			Time: "write such as 100us", Fraction: "write such as 0.01% or 0.0001", Count: "write a number of packets, such as 10 or 2k", Rate: "write such as 5Mpps"}[want]}
	}
	return nil
}

// comparable checks that the two sides can be decided.
func (e *Expectation) comparable(at int, bound side) error {
	s, other := e.Subject, e.Bound.Other
	switch {
	case e.Operator == Equal && (s.Dimension() == Time || s.Dimension() == Rate || s.Dimension() == Fraction && (s.Figure != Loss || other != nil || e.Bound.Constant != 0)):
		return &Error{At: at, Problem: fmt.Sprintf("%s is never exactly a value", s.Name()), Remedy: "== is for counts, and for loss == 0; write < or <="}
	case s.Of == Reference:
		return &Error{At: at, Problem: "only the reference is compared", Remedy: "write such as p99 <= 1.1 * reference.p99"}
	case s.Key != "" && (other == nil || other.Key != s.Key || other.Value == s.Value), s.Key == "" && other != nil && other.Key != "":
		return &Error{At: at, Problem: "trials of one value of a variable are compared with those of another", Remedy: "write such as p99(kind=veth) <= 1.1 * p99(kind=bridge), or where kind=veth for a limit"}
	case s.Key != "" && (!s.inTurn() || other.Figure != s.Figure || other.Undisturbed != s.Undisturbed || e.Bound.Constant != 0):
		return &Error{At: at, Problem: "trials in turn tell the ratio of a percentile, of the loss, of the received rate or of what a search found", Remedy: "write such as p99(kind=veth) <= 1.1 * p99(kind=bridge)"}
	case other == nil && e.Duet() && !e.IsFact():
		return &Error{At: at, Problem: "one side of a duet alone has no interval", Remedy: "compare it with the other side: b.p99 <= 1.05 * a.p99"}
	case other == nil:
		return nil
	case other.Of == Reference && s.Dimension() != Time, other.Of == Reference && s.IsFact():
		return &Error{At: bound.at, Problem: fmt.Sprintf("%s has no reference", s.Name()), Remedy: "compare it with a number"}
	case *other == s:
		return &Error{At: bound.at, Problem: fmt.Sprintf("%s is compared with itself", s)}
	case e.Duet() && (other.Of == Trials || other.Of == Reference), other.Of == SideA && !e.Duet(), other.Of == SideB && !e.Duet():
		return &Error{At: bound.at, Problem: "a side of a duet is compared with the other side", Remedy: "write such as b.p99 <= 1.05 * a.p99"}
	case s.Figure == Variation:
		return &Error{At: bound.at, Problem: s.Name() + " is compared with a number", Remedy: "write such as received.variation < 2.5%"}
	case s.Searched() && s.Key == "":
		return &Error{At: bound.at, Problem: fmt.Sprintf("%s is compared with a number, or with that of searches in turn", s.Name()),
			Remedy: fmt.Sprintf("write such as %s >= 5Mpps, or %[1]s(kind=memif) >= 5 * %[1]s(kind=veth)", s.Name())}
	case s.Figure == Received && (e.Duet() || s.Key == ""):
		return &Error{At: bound.at, Problem: "a received rate is compared with a number, or with that of trials in turn", Remedy: "write such as received >= 5Mpps, or received(kind=memif) >= 5 * received(kind=veth)"}
	case other.Of != Trials && (other.Figure != s.Figure || other.Undisturbed != s.Undisturbed):
		return &Error{At: bound.at, Problem: fmt.Sprintf("%s and %s are different quantities", s, other), Remedy: "compare the same quantity of both"}
	case other.Of != Trials && !s.IsFact() && e.Bound.Constant != 0 && e.Bound.Factor != 1:
		return &Error{At: bound.at, Problem: "a factor and a sum cannot be decided together", Remedy: "write a factor (1.05 * a.p99) or a difference (a.p99 + 1us)"}
	}
	return nil
}
