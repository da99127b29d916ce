package expect

import (
	"fmt"
	"math"
	"strings"
)

// Parse reads an expectation. Its error is an *Error.
func Parse(text string) (Expectation, error) {
	e := Expectation{Text: strings.TrimSpace(text)}
	if len(text) > maxLength {
		return e, &Error{Problem: fmt.Sprintf("is longer than %d characters", maxLength), Remedy: "write several expectations"}
	}
	tokens, rest, restAt := scan(text)
	p := &parser{tokens: tokens, end: len(text)}
	if restAt >= 0 {
		p.end = restAt - len("where")
	}
	left, err := p.side()
	if err != nil {
		return e, err
	}
	operator, at, err := p.operator()
	if err != nil {
		return e, err
	}
	right, err := p.side()
	if err != nil {
		return e, err
	}
	if next, ok := p.peek(); ok {
		return e, &Error{At: next.at, Problem: fmt.Sprintf("%q stands behind the expectation", next.text), Remedy: "write one comparison, and conditions behind where: p99 < 100us where kind=veth"}
	}
	if err := e.compose(left, operator, at, right); err != nil {
		return e, err
	}
	if restAt >= 0 {
		if e.Where, err = conditions(rest, restAt); err != nil {
			return e, err
		}
	}
	return e, nil
}

// parser takes the tokens from the left.
type parser struct {
	tokens []token
	end    int
}

// side is one side of a comparison: factor · quantity + constant.
type side struct {
	at       int
	quantity *Quantity
	factor   float64
	// constant is in the unit of its dimension; hasUnit is false for plain numbers only.
	constant  float64
	dimension Dimension
	hasUnit   bool
	// isNumber is true for a side, or its sum, that has a constant.
	isNumber bool
}

func (p *parser) peek() (token, bool) {
	if len(p.tokens) == 0 {
		return token{at: p.end}, false
	}
	return p.tokens[0], true
}

func (p *parser) take(symbols ...string) (token, bool) {
	next, ok := p.peek()
	for _, symbol := range symbols {
		if ok && next.text == symbol {
			p.tokens = p.tokens[1:]
			return next, true
		}
	}
	return token{}, false
}

// side reads a sum of products.
func (p *parser) side() (side, error) {
	next, _ := p.peek()
	sum := side{at: next.at}
	sign := 1.0
	for {
		at, _ := p.peek()
		one, err := p.product()
		if err != nil {
			return sum, err
		}
		switch {
		case one.quantity != nil && sum.quantity != nil:
			return sum, &Error{At: at.at, Problem: "a side has one quantity, and this is its second", Remedy: "write a difference as p99 <= reference.p99 + 1us"}
		case one.quantity != nil:
			sum.quantity, sum.factor = one.quantity, sign*one.factor
		case sum.isNumber && sum.hasUnit && one.hasUnit && sum.dimension != one.dimension:
			return sum, &Error{At: at.at, Problem: "the two numbers have different units"}
		default:
			sum.constant += sign * one.constant
			if one.hasUnit {
				sum.dimension, sum.hasUnit = one.dimension, true
			}
			sum.isNumber = true
		}
		switch operator, ok := p.take("+", "-"); {
		case !ok:
			return sum, nil
		case operator.text == "-":
			sign = -1
		default:
			sign = 1
		}
	}
}

// product reads factors of which one may be a quantity.
func (p *parser) product() (side, error) {
	product := side{factor: 1, constant: 1}
	for {
		next, ok := p.peek()
		if !ok {
			return product, &Error{At: next.at, Problem: "ends where a quantity or a number is expected", Remedy: "write such as p99 < 100us"}
		}
		at := next.at
		if symbolAt(next.text) != "" {
			return product, &Error{At: at, Problem: fmt.Sprintf("%q stands where a quantity or a number is expected", next.text)}
		}
		p.tokens = p.tokens[1:]
		if isNumber(next.text) {
			a, ok := readAmount(next.text)
			if !ok {
				return product, &Error{At: at, Problem: fmt.Sprintf("%q is no number with a unit", next.text), Word: a.unit, Known: unitNames()}
			}
			if a.unit != "" && product.hasUnit {
				return product, &Error{At: at, Problem: "only one factor has a unit"}
			}
			if a.unit != "" {
				product.dimension, product.hasUnit = a.dimension, true
			}
			product.constant *= a.value
		} else {
			q, err := p.quantity(next)
			if err != nil {
				return product, err
			}
			if product.quantity != nil {
				return product, &Error{At: at, Problem: "two quantities cannot be multiplied"}
			}
			product.quantity = &q
		}
		if _, more := p.take("*"); more {
			continue
		}
		if product.quantity == nil {
			return product, nil
		}
		if product.hasUnit && product.dimension == Time {
			return product, &Error{At: at, Problem: "a factor is a plain number or percent, without a unit of time"}
		}
		product.factor, product.constant, product.hasUnit = product.constant, 0, false
		return product, nil
	}
}

func (p *parser) operator() (Operator, int, error) {
	next, ok := p.peek()
	if !ok {
		return "", 0, &Error{At: next.at, Problem: "has no comparison", Remedy: "write such as p99 < 100us"}
	}
	p.tokens = p.tokens[1:]
	switch next.text {
	case "<", "<=", ">", ">=", "==":
		return Operator(next.text), next.at, nil
	case "≤":
		return AtMost, next.at, nil
	case "≥":
		return AtLeast, next.at, nil
	}
	e := &Error{At: next.at, Problem: fmt.Sprintf("%q is no comparison", next.text), Known: []string{"<", "<=", ">", ">=", "=="}}
	switch next.text {
	case "=":
		e.Remedy = "write =="
	case "=<":
		e.Remedy = "write <="
	case "=>":
		e.Remedy = "write >="
	}
	return "", 0, e
}

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
	if s.quantity != nil && s.quantity.Dimension() != want {
		return &Error{At: s.at, Problem: fmt.Sprintf("%s and %s cannot be compared", e.Subject.Name(), s.quantity.Name())}
	}
	if !s.isNumber || s.constant == 0 && !s.hasUnit {
		return nil
	}
	switch {
	case want == Time && !s.hasUnit:
		return &Error{At: s.at, Problem: "a time needs a unit", Remedy: "write such as 100us, 1.5ms or 250ns"}
	case want == Time && s.dimension != Time, want == Fraction && s.hasUnit && s.dimension != Fraction, want == Count && s.hasUnit && s.dimension != Count:
		return &Error{At: s.at, Problem: fmt.Sprintf("%s has another unit", e.Subject.Name()), Remedy: map[Dimension]string{
			Time: "write such as 100us", Fraction: "write such as 0.01% or 0.0001", Count: "write a number of packets, such as 10 or 2k"}[want]}
	}
	return nil
}

// comparable checks that the two sides can be decided.
func (e *Expectation) comparable(at int, bound side) error {
	s, other := e.Subject, e.Bound.Other
	switch {
	case e.Operator == Equal && (s.Dimension() == Time || s.Dimension() == Fraction && (other != nil || e.Bound.Constant != 0)):
		return &Error{At: at, Problem: fmt.Sprintf("%s is never exactly a value", s.Name()), Remedy: "== is for counts, and for loss == 0; write < or <="}
	case s.Of == Reference:
		return &Error{At: at, Problem: "only the reference is compared", Remedy: "write such as p99 <= 1.1 * reference.p99"}
	case s.Key != "" && (other == nil || other.Key != s.Key || other.Value == s.Value), s.Key == "" && other != nil && other.Key != "":
		return &Error{At: at, Problem: "trials of one value of a variable are compared with those of another", Remedy: "write such as p99(kind=veth) <= 1.1 * p99(kind=bridge), or where kind=veth for a limit"}
	case s.Key != "" && (s.IsFact() || other.Figure != s.Figure || other.Undisturbed != s.Undisturbed || e.Bound.Constant != 0):
		return &Error{At: at, Problem: "trials in turn tell the ratio of a percentile or of the loss", Remedy: "write such as p99(kind=veth) <= 1.1 * p99(kind=bridge)"}
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
	case other.Of != Trials && (other.Figure != s.Figure || other.Undisturbed != s.Undisturbed):
		return &Error{At: bound.at, Problem: fmt.Sprintf("%s and %s are different quantities", s, other), Remedy: "compare the same quantity of both"}
	case other.Of != Trials && !s.IsFact() && e.Bound.Constant != 0 && e.Bound.Factor != 1:
		return &Error{At: bound.at, Problem: "a factor and a sum cannot be decided together", Remedy: "write a factor (1.05 * a.p99) or a difference (a.p99 + 1us)"}
	}
	return nil
}
