package method

import (
	"math"
	"slices"

	"nines.dev/nines/result"
)

// quantile is the percentile p of a histogram, by the rule of RFC 8219 section 7.2, too, which is
// rank ⌈p·n⌉. It is false for a histogram without samples.
func quantile(h *result.Histogram, p float64) (float64, bool) {
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	return float64(h.Ranked(result.Rank(p, h.Count()))), true
}

// supported reports whether a histogram has enough samples for a percentile.
func supported(h *result.Histogram, p float64) bool {
	return h != nil && result.Supports(p, h.Count())
}

// rank is the percentile p of values, which must not be empty.
func rank(values []float64, p float64) float64 {
	return slices.Sorted(slices.Values(values))[result.Rank(p, uint64(len(values)))-1]
}

// mean returns mean and deviation of values, which must not be empty; the deviation is the sample's
// (n − 1), and 0 for one value.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}
