package confidence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Deviation is the standard deviation of values in groups, each around the mean of its group, with its interval at a
// level, 0 < level < 1. All groups are taken to vary alike; there must be 8 values or more. It needs no normal
// distribution: how heavy the tails are is taken from the values (Bonett 2006, "Approximate confidence interval for
// standard deviation of nonnormal distributions"). Values that follow one another are taken to be independent.
func Deviation(groups [][]float64, level float64) (value, low, high float64) {
	var n, squares, trimmedSquares, fourths float64
	for _, group := range groups {
		mean, middle := stat.Mean(group, nil), trimmedMean(group)
		for _, v := range group {
			squares += (v - mean) * (v - mean)
			d := (v - middle) * (v - middle)
			trimmedSquares, fourths = trimmedSquares+d, fourths+d*d
		}
		n += float64(len(group))
	}
	variance := squares / (n - float64(len(groups)))
	if variance <= 0 {
		return 0, 0, 0
	}
	kurtosis := n * fourths / (trimmedSquares * trimmedSquares)
	z := distuv.UnitNormal.Quantile(1 - (1-level)/2)
	c := n / (n - min(z, n/2))
	half := z * c * math.Sqrt(max(kurtosis-(n-3)/n, 0)/(n-1))
	middle := math.Log(c * variance)
	return math.Sqrt(variance), math.Exp((middle - half) / 2), math.Exp((middle + half) / 2)
}

// trimmedMean leaves out the share 1/(2√(n−4)) of the values at each end, as Bonett does: a single value far out, which
// makes the tails heavy, would otherwise draw the mean to itself.
func trimmedMean(values []float64) float64 {
	n := float64(len(values))
	sorted := slices.Sorted(slices.Values(values))
	if n > 5 {
		cut := int(n / (2 * math.Sqrt(n-4)))
		sorted = sorted[cut : len(sorted)-cut]
	}
	return stat.Mean(sorted, nil)
}
