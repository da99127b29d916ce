package confidence

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"nines.dev/nines/result"
)

// ranks are the positions of a percentile and its interval among sorted samples, the smallest at
// rank 1. The true percentile lies between the samples at Low and High with at least the confidence
// Level, for any distribution (Hahn and Meeker, Statistical Intervals, 1991, section 5.2). This
// needs independent samples. Packets are not, as one pause delays many: the tests compare with it.
type ranks struct {
	// Point is that of the percentile; 0 for fewer than 1/(1−p) samples, which do not support it.
	Point uint64
	// Low and High are 0 where the samples give no bound on that side.
	Low, High uint64
	Level     float64
	// Confidence is what the two ranks reach: at least Level; 0 unless both exist.
	Confidence float64
}

// percentileRanks returns the ranks of the percentile p, 0 < p < 1, among n samples.
func percentileRanks(n uint64, p, level float64) ranks {
	r := ranks{Level: level}
	if n == 0 || p <= 0 || p >= 1 || math.IsNaN(p) {
		return r
	}
	tail := (1 - level) / 2
	if result.Supports(p, n) {
		r.Point = result.Rank(p, n)
	}
	// The number of samples at or below the true percentile is binomial(n, p). Low is the largest
	// rank with P(B < Low) ≤ tail, High the smallest with P(B ≥ High) ≤ tail.
	atMost := func(k uint64) float64 { return binomialCDF(n, p, k) }
	// The first k at which the CDF exceeds tail is Low: P(B ≤ Low−1) ≤ tail.
	r.Low = first(n, func(k uint64) bool { return atMost(k) > tail })
	if below := first(n, func(k uint64) bool { return atMost(k) >= 1-tail }); below < n {
		r.High = below + 1
	}
	if r.Low > 0 && r.High > 0 {
		r.Confidence = atMost(r.High-1) - atMost(r.Low-1)
	}
	return r
}

// first is the smallest k in 0..n where holds is true; holds must go from false to true once.
func first(n uint64, holds func(uint64) bool) uint64 {
	low, high := uint64(0), n
	for low < high {
		middle := low + (high-low)/2
		if holds(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// wideVariance is the variance from which the normal approximation of a binomial, corrected for
// continuity and skewness, is as accurate as the incomplete beta function's continued fraction,
// which needs more terms for larger variances.
const wideVariance = 1e4

// binomialCDF is P(B ≤ k) for n draws with chance p.
func binomialCDF(n uint64, p float64, k uint64) float64 {
	if k >= n {
		return 1
	}
	size, at := float64(n), float64(k)
	variance := size * p * (1 - p)
	if variance < wideVariance {
		return mathext.RegIncBeta(size-at, at+1, 1-p)
	}
	z := (at + 0.5 - size*p) / math.Sqrt(variance)
	skewness := (1 - 2*p) / math.Sqrt(variance)
	// Cornish and Fisher's first term.
	return distuv.UnitNormal.CDF(z - skewness*(z*z-1)/6)
}
