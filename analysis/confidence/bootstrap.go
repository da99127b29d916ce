package confidence

import (
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Draws is how often values are resampled: enough that the ends of a 95 % interval
// stand still in their third digit (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993, section 19.3).
const Draws = 10_000

// Statistic computes a figure from values of one kind, such as Median. It may reorder its argument.
type Statistic func(values []float64) float64

// Options of a bootstrap; the zero value gives the defaults.
type Options struct {
	Level float64 // 0 means the constant Level
	Draws int     // 0 means the constant Draws
	Seed  uint64  // the same seed gives the same interval
	// BCa corrects bias and skewness (Efron 1987, "Better bootstrap confidence intervals"). It
	// needs a smooth statistic: its acceleration comes from the jackknife, which fails for the
	// median (Efron and Tibshirani, section 10.6). Use the percentile method for the median.
	BCa bool
}

func (o Options) withDefaults() Options {
	if o.Level == 0 {
		o.Level = Level
	}
	if o.Draws == 0 {
		o.Draws = Draws
	}
	return o
}

func (o Options) random() *rand.Rand { return rand.New(rand.NewPCG(o.Seed, o.Seed)) }

// Median is the median of repeats and its percentile bootstrap interval at Level.
func Median(values []float64, seed uint64) Interval {
	i := Bootstrap(values, medianOf, Options{Seed: seed})
	i.Reach = medianReach(len(values))
	return i
}

// Bootstrap returns a statistic of values and its interval. It resamples the values with
// replacement, Draws times; the interval spans the middle Level of the resampled statistics. There
// is no interval for fewer than two values, for values that are not finite, or if a draw has no
// finite statistic.
func Bootstrap(values []float64, of Statistic, o Options) Interval {
	o = o.withDefaults()
	drawn := append([]float64(nil), values...)
	interval := Interval{Level: o.Level, N: len(values)}
	if len(values) == 0 {
		return interval
	}
	interval.Median = of(drawn)
	if len(values) < 2 || !finite(values) {
		return interval
	}
	random := o.random()
	statistics := make([]float64, o.Draws)
	for i := range statistics {
		draw(random, values, drawn)
		statistics[i] = of(drawn)
	}
	if !finite(statistics) {
		return interval
	}
	sort.Float64s(statistics)
	low, high := ends(o.Draws, o.Level)
	if o.BCa {
		low, high = correctedEnds(statistics, interval.Median, acceleration(values, of), o.Level)
	}
	interval.Low, interval.High = &statistics[low], &statistics[high]
	return interval
}

// draw fills to with values from from, with replacement.
func draw(random *rand.Rand, from, to []float64) {
	for i := range to {
		to[i] = from[random.IntN(len(from))]
	}
}

// correctedEnds returns the positions of the BCa interval's ends among sorted draws (Efron and
// Tibshirani, section 14.3, equations 14.9 to 14.14).
func correctedEnds(sorted []float64, value, acceleration, level float64) (low, high int) {
	normal := distuv.UnitNormal
	below := 0.0 // equal draws count half
	for _, s := range sorted {
		switch {
		case s < value:
			below++
		case s == value:
			below += 0.5
		}
	}
	n := float64(len(sorted))
	// A value at the edge of all draws would have an infinite bias.
	bias := normal.Quantile(math.Min(math.Max(below/n, 0.5/n), 1-0.5/n))
	at := func(p float64) int {
		z := bias + normal.Quantile(p)
		share := normal.CDF(bias + z/(1-acceleration*z))
		return min(max(int(math.Round(share*n-0.5)), 0), len(sorted)-1)
	}
	return at((1 - level) / 2), at(1 - (1-level)/2)
}

// acceleration is the skewness of the jackknife values over 6 (equation 14.15).
func acceleration(values []float64, of Statistic) float64 {
	left := make([]float64, len(values)-1)
	without := make([]float64, len(values))
	mean := 0.0
	for i := range values {
		copy(left, values[:i])
		copy(left[i:], values[i+1:])
		without[i] = of(left)
		mean += without[i] / float64(len(values))
	}
	var squares, cubes float64
	for _, v := range without {
		d := mean - v
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return 0
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// medianOf sorts its argument.
func medianOf(values []float64) float64 {
	sort.Float64s(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
