package expect

import (
	"slices"
	"strconv"
	"strings"
)

// Expectation is a subject that is compared with a bound.
type Expectation struct {
	// Text is the expectation as it was written.
	Text string
	// Subject is what is expected something of.
	Subject  Quantity
	Operator Operator
	Bound    Bound
	// Where keeps the trials that meet all conditions; empty for all trials.
	Where []Condition
}

// Operator compares the subject with the bound.
type Operator string

// The operators. Equal is for counts, and for a loss of 0.
const (
	Below   Operator = "<"
	AtMost  Operator = "<="
	Above   Operator = ">"
	AtLeast Operator = ">="
	Equal   Operator = "=="
)

// upper reports whether the bound is an upper one.
func (o Operator) upper() bool { return o == Below || o == AtMost }

// swapped is the operator where the sides are exchanged.
func (o Operator) swapped() Operator {
	switch o {
	case Below:
		return Above
	case AtMost:
		return AtLeast
	case Above:
		return Below
	case AtLeast:
		return AtMost
	}
	return o
}

// Bound is Factor · Other + Constant; without Other the constant alone.
type Bound struct {
	Factor float64
	Other  *Quantity
	// Constant is in the subject's unit: nanoseconds, a fraction, or a count.
	Constant float64
}

// Source says whose quantity it is.
type Source string

// The sources: the trials themselves, the reference, or a side of a duet.
const (
	Trials    Source = ""
	Reference Source = "reference"
	SideA     Source = "a"
	SideB     Source = "b"
)

// Quantity is what a measurement tells.
type Quantity struct {
	Of Source
	// Figure is "p99_9", as in summary.json, or one of the names.
	Figure string
	// P is the fraction of a percentile, 0.999; 0 for other figures.
	P float64
	// Undisturbed is without the host's interruptions.
	Undisturbed bool
	// Intervals are the times from packet to packet that the figure is of; empty: it is of latencies, or of neither.
	Intervals Intervals
	// Range is that of Within, such as "7us..8us", and From and To are its ends in nanoseconds; both belong to it.
	Range    string
	From, To float64
	// Key and Value choose the trials whose variable has a value, to compare them with those of another value in turn; empty:
	// all.
	Key, Value string
}

// Name is the quantity without its source: "undisturbed p99.9".
func (q Quantity) Name() string {
	name := strings.ReplaceAll(q.Figure, "_", ".")
	switch {
	case q.Undisturbed:
		name = undisturbedWord + " " + name
	case q.Range != "":
		name += "(" + q.Range + ")"
	}
	if q.Intervals != "" {
		name = string(q.Intervals) + "." + name
	}
	return name
}

// String is the quantity as a user writes it: "reference.undisturbed.p99.9".
func (q Quantity) String() string {
	name := strings.ReplaceAll(q.Name(), " ", ".")
	if q.Of != Trials {
		name = string(q.Of) + "." + name
	}
	if q.Key != "" {
		name += "(" + q.Key + "=" + q.Value + ")"
	}
	return name
}

// Condition is met by trials whose variable has one of the values.
type Condition struct {
	Key    string
	Values []string
}

// String is the condition as a user writes it.
func (c Condition) String() string { return c.Key + "=" + strings.Join(c.Values, ",") }

// Duet reports whether the expectation is about the sides of a duet.
func (e Expectation) Duet() bool { return e.Subject.Of == SideA || e.Subject.Of == SideB }

// InTurn reports whether the expectation compares trials of two values of a variable, which ran in turn.
func (e Expectation) InTurn() bool { return e.Subject.Key != "" }

// About are the conditions that trials meet which the expectation is about.
func (e Expectation) About() []Condition {
	if !e.InTurn() {
		return e.Where
	}
	return append(slices.Clone(e.Where), Condition{e.Subject.Key, []string{e.Subject.Value, e.Bound.Other.Value}})
}

// IsFact reports whether the expectation is one about the trials that were made, and needs no interval.
func (e Expectation) IsFact() bool { return e.Subject.IsFact() || e.Operator == Equal }

// Quantities are those that it names.
func (e Expectation) Quantities() []Quantity {
	if e.Bound.Other == nil {
		return []Quantity{e.Subject}
	}
	return []Quantity{e.Subject, *e.Bound.Other}
}

// percentile reads "p99.9" and "p99_9".
func percentile(name string) (figure string, p float64, ok bool) {
	digits, found := strings.CutPrefix(name, "p")
	digits = strings.ReplaceAll(digits, "_", ".")
	if !found || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return "", 0, false
	}
	percent, err := strconv.ParseFloat(digits, 64)
	if err != nil || percent <= 0 || percent >= 100 {
		return "", 0, false
	}
	if p, err = strconv.ParseFloat(digits+"e-2", 64); err != nil { // 99.9 / 100 is not 0.999
		return "", 0, false
	}
	return "p" + strings.ReplaceAll(strconv.FormatFloat(percent, 'f', -1, 64), ".", "_"), p, true
}
