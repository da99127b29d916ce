package report

import (
	"nines.dev/nines/analysis/confidence"
)

// bootstrapSeed is fixed, so that a table or comparison is the same every time.
const bootstrapSeed = 1

// Interval is a 95 % confidence interval from a percentile bootstrap over repeats (package
// confidence). With few repeats it is narrower than its level promises; the table says so.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// boundsOf is nil without an interval: a single repeat says nothing about its spread.
func boundsOf(i confidence.Interval) *Interval {
	if !i.Bounded() {
		return nil
	}
	return &Interval{Low: *i.Low, High: *i.High}
}
