package expectation

import (
	"time"

	"nines.dev/nines/expect"
	"nines.dev/nines/result"
)

// Asked is an expectation with its place in the file.
type Asked struct {
	expect.Expectation
	Place Place
}

// Place is where a file has an expectation; the zero value is the command line.
type Place struct {
	File         string
	Line, Column int
}

// Options say what is expected of which result.
type Options struct {
	Result *result.Result
	// Reference are what quantities with "reference." are of: one result, or several of different days.
	Reference []*result.Result
	Asked     []Asked
	// Planned are the combinations that the result's experiment has; those without a trial are undecided. Nil: not known.
	Planned []map[string]any
}

// Judgements are the decisions on all expectations of a result.
type Judgements struct {
	// Name and Dir are the result's, and Started is when it was.
	Name, Dir string
	Started   time.Time
	// TrafficNs is how long packets were sent in all its trials.
	TrafficNs int64
	Decision  expect.Decision
	List      []Judgement
}

// Judgement is the decision on an expectation.
type Judgement struct {
	Asked
	Decision expect.Decision
	// Cases are the combinations of the swept variables that it is about.
	Cases []Case
}

// Case is the decision for one combination of the swept variables.
type Case struct {
	Variables map[string]any
	// Trials are the IDs of those that count.
	Trials   []string
	Decision expect.Decision
	// Subject and Bound are what was compared, with their 95 % intervals; nil where nothing is known.
	Subject, Bound *expect.Interval
	// Because says what was compared, or why nothing could be decided.
	Because string
	// Notes say what a decision takes for granted.
	Notes []string
	// Needs is what a decision would take; nil where that is not known.
	Needs *Needs
}

// Needs is about how much traffic a decision would take.
type Needs struct {
	// Times is how many times as much as was measured.
	Times     float64
	Packets   uint64
	TrafficNs int64
}

// Count returns how many expectations have a decision.
func (j Judgements) Count(d expect.Decision) int {
	n := 0
	for _, one := range j.List {
		if one.Decision == d {
			n++
		}
	}
	return n
}
