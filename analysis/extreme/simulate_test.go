package extreme

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// simulated is a measurement of independent packets, one per microsecond, of which the worst are
// kept.
func simulated(random *rand.Rand, total, worst int, value func(*rand.Rand) float64) Sample {
	points := make([]Point, total)
	for i := range points {
		points[i] = Point{value(random), int64(i) * 1000}
	}
	return fromPoints(points, worst)
}

func fromPoints(points []Point, worst int) Sample {
	total, span := len(points), int64(len(points))*1000
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(b.Value, a.Value) })
	return FromWorst(points[:worst], uint64(total), span)
}

// paretoValue draws from a generalised Pareto distribution above 10,000.
func paretoValue(shape, scale float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		return 10_000 + Pareto{shape, scale}.Exceeded(1-r.Float64())
	}
}

// trueQuantile is the quantile of paretoValue.
func trueQuantile(shape, scale, q float64) float64 {
	return 10_000 + Pareto{shape, scale}.Exceeded(q)
}

// worstOfPareto draws the worst of total values of paretoValue, and their times, without
// drawing the rest: the ranks of uniform variables are sums of exponential ones.
func worstOfPareto(random *rand.Rand, total, worst int, shape, scale float64) Sample {
	points := make([]Point, worst)
	sum := 0.0
	for i := range points {
		sum += random.ExpFloat64()
		points[i] = Point{10_000 + Pareto{shape, scale}.Exceeded(math.Min(sum/float64(total), 1)), random.Int64N(int64(total) * 1000)}
	}
	return FromWorst(points, uint64(total), int64(total)*1000)
}
