package report

import (
	"nines.dev/nines/analysis/confidence"
)

// bootstrapSeed is fixed, so that a table or a comparison is the same each time.
const bootstrapSeed = 1

// Interval is a 95 % confidence interval by a percentile bootstrap over repeats
// (package confidence). With few repeats it is narrower than its level promises; the
// table says so.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// boundsOf is nil where there is no interval: a single repeat knows nothing of its
// spread.
func boundsOf(i confidence.Interval) *Interval {
	if !i.Bounded() {
		return nil
	}
	return &Interval{Low: *i.Low, High: *i.High}
}
