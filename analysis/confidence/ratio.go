package confidence

import (
	"sort"
)

// Ratio is median(b)/median(a) over the repeats of two sides, with its percentile bootstrap
// interval at Level. Each side is resampled separately (Efron and Tibshirani, chapter 8, two
// samples). N is the smaller side's. There is no interval if a side has a single value, or if a
// draw of a has the median 0.
func Ratio(a, b []float64, seed uint64) Interval { return RatioBy(a, b, Options{Seed: seed}) }

// RatioBy is Ratio at another level or with another number of draws.
func RatioBy(a, b []float64, o Options) Interval {
	o = o.withDefaults()
	interval := Interval{Level: o.Level, N: min(len(a), len(b))}
	if interval.N == 0 {
		return interval
	}
	drawnA, drawnB := append([]float64(nil), a...), append([]float64(nil), b...)
	interval.Median = medianOf(drawnB) / medianOf(drawnA)
	interval.Reach = medianReach(interval.N)
	if interval.N < 2 || !finite(a) || !finite(b) {
		return interval
	}
	random := o.random()
	ratios := make([]float64, o.Draws)
	for i := range ratios {
		draw(random, a, drawnA)
		draw(random, b, drawnB)
		below, above := medianOf(drawnA), medianOf(drawnB)
		if below == 0 {
			return interval
		}
		ratios[i] = above / below
	}
	sort.Float64s(ratios)
	low, high := ends(o.Draws, o.Level)
	interval.Low, interval.High = &ratios[low], &ratios[high]
	return interval
}
