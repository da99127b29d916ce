package confidence

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Level is the default confidence level of intervals.
const Level = 0.95

// Interval is a figure with the bounds that a confidence level puts around it. Its unit
// is that of the values.
type Interval struct {
	// Low and High are nil if the values have no interval: a single repeat says nothing about its
	// spread.
	Low *float64 `json:"low"`
	// Median is the statistic of the values; for a Bootstrap of another statistic, the value of that
	// statistic.
	Median float64  `json:"median"`
	High   *float64 `json:"high"`
	// Level is the requested confidence: 0.95.
	Level float64 `json:"level"`
	// N is the number of values.
	N int `json:"n"`
	// Reach is the highest confidence that an interval within the range of N values can have for
	// their median: 1 − 2^(1−n), the chance that the true median is neither below nor above them
	// all. If it is less than Level, the interval promises too much. 0 for other statistics, where
	// it is unknown.
	Reach float64 `json:"reach,omitempty"`
}

// Bounded reports whether there is an interval.
func (i Interval) Bounded() bool { return i.Low != nil && i.High != nil }

// Holds reports whether this many values can reach the requested level.
func (i Interval) Holds() bool { return i.Bounded() && (i.Reach == 0 || i.Reach >= i.Level) }

// Caution is a warning about an interval from few values; "" for none.
func (i Interval) Caution() string {
	switch {
	case i.N == 0:
		return "no value"
	case !i.Bounded():
		return "a single repeat has no interval: set 'repeat' to 6 or more"
	case !i.Holds():
		return fmt.Sprintf("%d repeats cover their median with at most %.0f %% confidence, not %.0f %%: set 'repeat' to %d or more",
			i.N, 100*i.Reach, 100*i.Level, fewestFor(i.Level))
	}
	return ""
}

// medianReach is the chance that the range of n values contains the median of a continuous
// distribution: all values lie on one given side of it with chance 2^−n.
func medianReach(n int) float64 {
	if n < 2 {
		return 0
	}
	return 1 - math.Pow(2, float64(1-n))
}

// fewestFor is the smallest number of values whose range reaches a level: 6 for 95 %.
func fewestFor(level float64) int {
	n := 2
	for medianReach(n) < level {
		n++
	}
	return n
}

// ends returns the positions of an interval's ends among sorted draws: it leaves out equally many
// at both ends.
func ends(draws int, level float64) (low, high int) {
	// The small term keeps 0.025·10,000 at 250, which floating point makes 250.0000…2.
	tail := int((1-level)/2*float64(draws) + 1e-9)
	return tail, draws - 1 - tail
}

func finite(values []float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// BeyondMedian is how many of n values may be left out at either end so that the range of the others still contains the
// median of a continuous distribution with a chance of Level: 0 of 6, 1 of 9, 2 of 12. The number of values below the median
// is binomial, with n draws and a chance of one half (David and Nagaraja, Order Statistics, 2003, section 7.1).
func BeyondMedian(n int) (left int) {
	below := distuv.Binomial{N: float64(n), P: 0.5}
	for 2*(left+1) < n && 2*below.CDF(float64(left+1)) <= 1-Level {
		left++
	}
	return left
}
