package method

import "math"

// ladder is the rates that a search may try. Each is lower than the one above by the search's
// width, so two neighbours are close enough as bounds, and a rate tried for one goal serves the
// others. Rung 0 is the highest rate; the last is the lowest.
type ladder struct {
	r     Range
	rungs int
}

// newLadder makes the rungs of a range.
func newLadder(r Range) ladder {
	if r.MinPPS >= r.MaxPPS {
		return ladder{r, 1}
	}
	steps := math.Log(r.MaxPPS/r.MinPPS) / -math.Log1p(-r.Width)
	return ladder{r, int(math.Ceil(steps-1e-9)) + 1}
}

// rate returns the rate of a rung.
func (l ladder) rate(rung int) float64 {
	if rung >= l.rungs-1 {
		return l.r.MinPPS
	}
	return l.r.MaxPPS * math.Pow(1-l.r.Width, float64(rung))
}

// below returns the highest rung with at most this rate, or the last.
func (l ladder) below(rate float64) int {
	if rate <= l.r.MinPPS || math.IsNaN(rate) {
		return l.rungs - 1
	}
	if rate >= l.r.MaxPPS {
		return 0
	}
	// A rate within a thousandth of a step from a rung belongs to that rung.
	steps := math.Log(l.r.MaxPPS/rate) / -math.Log1p(-l.r.Width)
	return min(max(int(math.Ceil(steps-1e-3)), 0), l.rungs-1)
}

// steps is how many rungs apart two bounds may be for a width.
func (l ladder) steps(width float64) int {
	return max(1, int(math.Log1p(-width)/math.Log1p(-l.r.Width)+1e-9))
}
