package extreme

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval bounds a percentile.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// level is the confidence of all intervals here.
const level = 0.95

// tailChance is the chance that an excess exceeds the quantile with complement q: exceedances are k
// of total values.
func tailChance(q float64, total uint64, k int) float64 {
	return q * float64(total) / float64(k)
}

// quantile is the value that the fraction q of all values exceeds (Coles, section 4.3.3).
func quantile(d Pareto, threshold, q float64, total uint64, k int) float64 {
	return threshold + d.Exceeded(tailChance(q, total, k))
}

// profileInterval is the interval of a quantile by its profile likelihood (Coles, section 4.3.3,
// there without the rate): all values of the quantile for which the best other parameters are at
// most χ²₁(0.95)/2 worse than the overall best. The number of exceedances is Poisson, so its
// uncertainty is included. False if the likelihood does not fall on one side: then the data do not
// bound the quantile.
func profileInterval(ys []float64, fit Fit, threshold, q float64, total uint64) (Interval, bool) {
	k, expected := float64(len(ys)), q*float64(total)
	best := fit.logLikelihood(ys) - k + k*math.Log(k)
	drop := distuv.ChiSquared{K: 1}.Quantile(level) / 2
	point := fit.Exceeded(expected / k)
	// deviation is the best log likelihood with the quantile at y above the threshold, minus the
	// overall best, maximised over the rate, and for each rate over the shape.
	deviation := func(y float64) float64 {
		withRate := func(logRate float64) float64 {
			rate := math.Exp(logRate)
			if rate <= expected {
				return math.Inf(-1)
			}
			withShape := func(shape float64) float64 {
				// The scale that makes y the quantile: y = σ·((rate/expected)^ξ − 1)/ξ.
				unit := Pareto{Shape: shape, Scale: 1}
				return Pareto{Shape: shape, Scale: y / unit.Exceeded(expected/rate)}.logLikelihood(ys)
			}
			return withShape(goldenMaximum(withShape, -0.99, 2, 1e-4)) - rate + k*logRate
		}
		spread := 4 / math.Sqrt(k)
		return withRate(goldenMaximum(withRate, math.Log(k)-spread, math.Log(k)+spread, spread/50)) - best
	}
	side := func(factor float64) (float64, bool) {
		inside := point
		for outside := point * factor; outside > 1e-3*point && outside < 1e3*point; outside *= factor {
			if deviation(outside) >= -drop {
				inside = outside
				continue
			}
			for math.Abs(outside-inside) > 1e-4*inside {
				middle := (inside + outside) / 2
				if deviation(middle) < -drop {
					outside = middle
				} else {
					inside = middle
				}
			}
			return threshold + (inside+outside)/2, true
		}
		return 0, false
	}
	low, ok := side(0.93)
	if !ok {
		return Interval{}, false
	}
	high, ok := side(1.08)
	return Interval{low, high}, ok
}

// clusterInterval is the interval of a quantile by a bootstrap that draws whole clusters, a Poisson
// number of them, and fits again. It uses all exceedances, since their distribution is what is
// asked for, and their dependence widens the interval (Fawcett and Walshaw 2007, "Improved
// estimation for temporally clustered extremes"). False if many draws have no fit.
func clusterInterval(groups [][]Point, threshold, q float64, total uint64, draws int, random *rand.Rand) (Interval, bool) {
	count := distuv.Poisson{Lambda: float64(len(groups)), Src: random}
	var values, drawn []float64
	for range draws {
		drawn = drawn[:0]
		for range int(count.Rand()) {
			drawn = append(drawn, excesses(groups[random.IntN(len(groups))], threshold)...)
		}
		fit, ok := fitPareto(drawn)
		if !ok || tailChance(q, total, len(drawn)) >= 1 {
			continue
		}
		values = append(values, quantile(fit.Pareto, threshold, q, total, len(drawn)))
	}
	if float64(len(values)) < 0.9*float64(draws) {
		return Interval{}, false
	}
	slices.Sort(values)
	cut := int((1 - level) / 2 * float64(len(values)))
	return Interval{values[cut], values[len(values)-1-cut]}, true
}
