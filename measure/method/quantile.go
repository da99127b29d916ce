package method

import (
	"math"
	"slices"

	"nines.dev/nines/result"
)

// quantile is the value at rank ⌈p·n⌉ of a histogram, the percentile definition of RFC 8219 section
// 7.2. It is false for a histogram without samples.
func quantile(h *result.Histogram, p float64) (float64, bool) {
	if h == nil || h.Count() == 0 {
		return 0, false
	}
	// The histogram rounds p·n to an integer rank; this passes it one.
	n := float64(h.Count())
	ns, ok := h.At(result.Percentile{P: max(math.Ceil(p*n-1e-9), 1) / n})
	return float64(ns), ok
}

// supported tells whether a histogram has enough samples for a percentile: 1/(1−p).
func supported(h *result.Histogram, p float64) bool {
	return h != nil && h.Count() > 0 && float64(h.Count())*(1-p) >= 1-1e-9
}

// rank is the value at rank ⌈p·n⌉ of values, which must not be empty.
func rank(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(p*float64(len(sorted)))), 1)-1]
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
