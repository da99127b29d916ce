package expect

import (
	"fmt"
	"strings"
)

// Parse reads an expectation. Its error is an *Error.
func Parse(text string) (Expectation, error) {
	e := Expectation{Text: strings.TrimSpace(text)}
	if len(text) > maxLength {
		return e, &Error{Problem: fmt.Sprintf("is longer than %d characters", maxLength), Remedy: "write several expectations"}
	}
	tokens, rest, restAt := scan(text)
	p := &parser{text: text, tokens: tokens, end: len(text)}
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
	text   string
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
