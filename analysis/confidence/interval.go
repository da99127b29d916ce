package confidence

import (
	"fmt"
	"math"
)

// Level is the confidence that intervals of nines have, unless told otherwise.
const Level = 0.95

// Interval is a figure with the bounds that a confidence level puts around it. Its unit
// is that of the values.
type Interval struct {
	// Low and High are nil where the values have no interval: a single repeat knows
	// nothing of its spread.
	Low *float64 `json:"low"`
	// Median is the statistic of the values as they are; for Bootstrap of another
	// statistic it is that one's value.
	Median float64  `json:"median"`
	High   *float64 `json:"high"`
	// Level is the confidence that was asked for: 0.95.
	Level float64 `json:"level"`
	// N is how many values there are.
	N int `json:"n"`
	// Reach is the most confidence that any interval within the range of so few values
	// can have for their median: 1 − 2^(1−n), the chance that the true median is
	// not below or above them all. Where it is less than Level, the interval promises
	// more than it can hold. 0 for other statistics, of which it is not known.
	Reach float64 `json:"reach,omitempty"`
}

// Bounded is whether there is an interval at all.
func (i Interval) Bounded() bool { return i.Low != nil && i.High != nil }

// Holds is whether the level asked for can be reached by so many values.
func (i Interval) Holds() bool { return i.Bounded() && (i.Reach == 0 || i.Reach >= i.Level) }

// Caution is what a reader should know of an interval of few values; "" where there is
// nothing to say.
func (i Interval) Caution() string {
	switch {
	case i.N == 0:
		return "no value"
	case !i.Bounded():
		return "a single repeat has no interval: set 'repeat' to 6 or more"
	case !i.Holds():
		return fmt.Sprintf("%d repeats span their median with %.0f %% confidence at most, not %.0f %%: set 'repeat' to %d or more",
			i.N, 100*i.Reach, 100*i.Level, fewestFor(i.Level))
	}
	return ""
}

// medianReach is the coverage of the range of n values for the median of a continuous
// distribution: all lie on one side of it with the chance 2·2^−n.
func medianReach(n int) float64 {
	if n < 2 {
		return 0
	}
	return 1 - math.Pow(2, float64(1-n))
}

// fewestFor is the fewest values whose range reaches a level: 6 for 95 %.
func fewestFor(level float64) int {
	n := 2
	for medianReach(n) < level {
		n++
	}
	return n
}

// ends returns the places of an interval's ends among sorted draws: as many draws are
// left out below as above.
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
