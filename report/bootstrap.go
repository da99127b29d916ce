package report

import (
	"math/rand/v2"
	"sort"

	"nines.dev/nines/result"
)

// The interval of a ratio is a percentile bootstrap (Efron and Tibshirani, An
// Introduction to the Bootstrap, 1993, chapter 13): the repeats of each side are
// drawn anew with replacement, and the ratio of the medians taken, many times.
// With few repeats it is narrower than its level promises; the table says so.
const (
	BootstrapLevel = 0.95
	bootstrapDraws = 10_000
	bootstrapSeed  = 1 // fixed, so that a comparison is the same each time
)

// Interval is a confidence interval of a ratio.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// bootstrapRatio is the interval of median(b)/median(a) over the repeats; nil
// where a side has only one, for a single value knows nothing of its spread.
func bootstrapRatio(a, b []float64) *Interval {
	if len(a) < 2 || len(b) < 2 {
		return nil
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, bootstrapSeed))
	draw := func(from, to []float64) float64 {
		for i := range to {
			to[i] = from[random.IntN(len(from))]
		}
		return result.Median(to)
	}
	toA, toB := make([]float64, len(a)), make([]float64, len(b))
	ratios := make([]float64, 0, bootstrapDraws)
	for range bootstrapDraws {
		below, above := draw(a, toA), draw(b, toB)
		if below == 0 {
			return nil // a repeat of nothing: the ratio has no bounds
		}
		ratios = append(ratios, above/below)
	}
	sort.Float64s(ratios)
	tail := int((1 - BootstrapLevel) / 2 * bootstrapDraws)
	return &Interval{Low: ratios[tail], High: ratios[len(ratios)-1-tail]}
}
