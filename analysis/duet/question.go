package duet

import "fmt"

// Question is what is compared.
type Question struct {
	// P is the percentile of the latency, 0.99; 0 for the share of packets lost.
	P float64
	// Undisturbed leaves out packets that an interruption touched.
	Undisturbed bool
}

// Loss is the share of the packets that were lost.
var Loss = Question{}

// Questions are all.
func Questions() []Question {
	var all []Question
	for _, without := range []bool{false, true} {
		for _, p := range []float64{0.5, 0.9, 0.99, 0.999} {
			all = append(all, Question{p, without})
		}
	}
	return append(all, Loss)
}

// String names it: "undisturbed p99".
func (q Question) String() string {
	switch {
	case q == Loss:
		return "loss"
	case q.Undisturbed:
		return fmt.Sprintf("undisturbed p%g", 100*q.P)
	}
	return fmt.Sprintf("p%g", 100*q.P)
}

// Decision is the answer to a question.
type Decision string

// The decisions.
const (
	ALower    Decision = "A lower"
	BLower    Decision = "B lower"
	Same      Decision = "same" // within the least difference that matters
	Undecided Decision = "undecided"
)

// Interval is a value with the bounds of its 95 % interval.
type Interval struct{ Low, Value, High float64 }

// Answer is what a look tells of a question. Times are nanoseconds.
type Answer struct {
	Question Question
	Decision Decision
	// A and B are the values of the sides. Difference is B − A, and Ratio B / A; nil where there is none.
	A, B       float64
	Difference *Interval
	Ratio      *Interval
	// Least is the least difference that matters.
	Least float64
	// Confirmed is true once a later look did not decide otherwise.
	Confirmed bool
	// Because says why there is no interval, or no decision from it; "" otherwise.
	Because string
	// Remains says what of the interruptions is in an undisturbed percentile all the same, in both sides alike, as each
	// packet's side was drawn: which side is lower can be told with it. "" if nothing that matters is.
	Remains string
	// NeedsNs is about how long the trial would have to be for a decision; 0 if that is not known.
	NeedsNs int64
}

// Options of a trial. The zero value gives the defaults.
type Options struct {
	// Asked are what a decision is wanted for: by default p50 and the undisturbed p99. The trial has ended when all are
	// decided.
	Asked []Question
	// LeastShare of A's value, or LeastNs if that is more, is the least difference that matters: 1 % and 20 ns. LeastLoss
	// is that of the share of lost packets: 0.01 %.
	LeastShare, LeastNs, LeastLoss float64
	// LengthNs is how long the trial may last: 20 s.
	LengthNs int64
	// Draws of the bootstrap: 1,000.
	Draws int
}

func (o Options) withDefaults() Options {
	if o.Asked == nil {
		o.Asked = []Question{{P: 0.5}, {P: 0.99, Undisturbed: true}}
	}
	if o.LeastShare == 0 {
		o.LeastShare = 0.01
	}
	if o.LeastNs == 0 {
		o.LeastNs = 20
	}
	if o.LeastLoss == 0 {
		o.LeastLoss = 0.0001
	}
	if o.LengthNs == 0 {
		o.LengthNs = 20e9
	}
	if o.Draws == 0 {
		o.Draws = 1000
	}
	return o
}
