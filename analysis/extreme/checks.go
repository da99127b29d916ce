package extreme

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// The limits of the checks. Refusing is the safe answer, so checks that compare with chance refuse
// only below checkLevel, which a good tail fails once in a hundred times.
const (
	fewestExceedances = 50   // below, ξ is not known to ±0.15 (Smith 1987: (1+ξ)/√n)
	fewestClusters    = 30   // independent causes that a fit must have
	mostTied          = 0.05 // fraction of the exceedances that may have the same value
	mostShape         = 1.0  // from here on the mean is infinite
	leastShape        = -0.5 // below, maximum likelihood is not regular (Smith 1985)
	farthest          = 100  // the request may need this many times the packets measured
	widest            = 10   // the interval's high end may be this many times its low end
	checkLevel        = 0.01
)

// Stability says how the answer depends on the threshold: over the chosen threshold and the higher
// ones of the ladder that fit.
type Stability struct {
	Fits       int     `json:"fits"`
	LeastValue float64 `json:"least_value"`
	MostValue  float64 `json:"most_value"`
	LeastShape float64 `json:"least_shape"`
	MostShape  float64 `json:"most_shape"`
}

// Trend reports whether exceedances, one per cluster, come evenly over time and in the same sizes.
type Trend struct {
	// RateP is the chance of the exceedances' mean time being so far from the middle (Laplace's
	// trend test), EvenP of counts in equal parts of the time being so uneven (χ²), SizeP of so
	// strong a Kendall correlation between size and time.
	RateP float64 `json:"rate_p"`
	EvenP float64 `json:"even_p"`
	SizeP float64 `json:"size_p"`
}

// Train checks the method itself: a fit to the first half of the time predicts how many clusters of
// the second half exceed a level, Expected.
type Train struct {
	Level    float64 `json:"level"`
	Expected float64 `json:"expected"`
	Observed int     `json:"observed"`
	// P is the chance of an observation so far off, including the uncertainty of the fit.
	P float64 `json:"p"`
}

// tied is the largest number of exceedances with the same value.
func tied(ys []float64) int {
	sorted := slices.Clone(ys)
	slices.Sort(sorted)
	most, run := 0, 0
	for i := range sorted {
		if i > 0 && sorted[i] == sorted[i-1] {
			run++
		} else {
			run = 1
		}
		most = max(most, run)
	}
	return most
}

// trend tests the maxima of clusters in time order.
func trend(maxima []Point, spanNs int64) Trend {
	n := len(maxima)
	mean := 0.0
	for _, p := range maxima {
		mean += float64(p.AtNs) / float64(n)
	}
	span := float64(spanNs)
	t := Trend{RateP: twoSided((mean - span/2) / (span / math.Sqrt(12*float64(n))))}
	parts := min(max(n/5, 2), 10)
	counts := make([]float64, parts)
	for _, p := range maxima {
		counts[min(max(int(float64(p.AtNs)/span*float64(parts)), 0), parts-1)]++
	}
	expected, chi := float64(n)/float64(parts), 0.0
	for _, c := range counts {
		chi += (c - expected) * (c - expected) / expected
	}
	t.EvenP = distuv.ChiSquared{K: float64(parts - 1)}.Survival(chi)
	t.SizeP = kendallP(maxima)
	return t
}

func twoSided(z float64) float64 { return 2 * distuv.UnitNormal.Survival(math.Abs(z)) }

// kendallMost is the most points for the quadratic count of pairs; of more points, this many are
// picked evenly.
const kendallMost = 1000

// kendallP is the two-sided chance of the Mann-Kendall trend statistic.
func kendallP(points []Point) float64 {
	step := max((len(points)+kendallMost-1)/kendallMost, 1)
	var values []float64
	for i := 0; i < len(points); i += step {
		values = append(values, points[i].Value)
	}
	sum := 0
	for i := range values {
		for j := range i {
			switch {
			case values[i] > values[j]:
				sum++
			case values[i] < values[j]:
				sum--
			}
		}
	}
	n := float64(len(values))
	return twoSided(float64(sum) / math.Sqrt(n*(n-1)*(2*n+5)/18))
}

// trainDraws is how often the prediction is simulated.
const trainDraws = 500

// train fits the maxima of the first half's clusters and compares those of the second; nil if
// either half has too few.
func train(maxima []Point, threshold float64, spanNs int64, random *rand.Rand) *Train {
	half := 0
	for half < len(maxima) && maxima[half].AtNs < spanNs/2 {
		half++
	}
	first, rest := excesses(maxima[:half], threshold), excesses(maxima[half:], threshold)
	if len(first) < fewestExceedances/2 {
		return nil
	}
	fit, ok := fitPareto(first)
	if !ok {
		return nil
	}
	// The level that a tenth of the clusters exceed, but at least 3 of them.
	chance := max(0.1, 3/float64(len(first)))
	t := &Train{Level: threshold + fit.Exceeded(chance), Expected: chance * float64(len(first))}
	for _, y := range rest {
		if threshold+y > t.Level {
			t.Observed++
		}
	}
	// What another first half of the same kind would have predicted, and what would have followed:
	// as many clusters as in that half, with random variation.
	fewer, more, drawn := 0, 0, []float64{}
	for range trainDraws {
		n := int(distuv.Poisson{Lambda: float64(len(first)), Src: random}.Rand())
		drawn = drawn[:0]
		for range n {
			drawn = append(drawn, fit.Exceeded(1-random.Float64()))
		}
		again, ok := fitPareto(drawn)
		if !ok {
			continue
		}
		mean := float64(n) * fit.Survival(again.Exceeded(chance))
		came := 0
		if mean > 0 {
			came = int(distuv.Poisson{Lambda: mean, Src: random}.Rand())
		}
		if came <= t.Observed {
			fewer++
		}
		if came >= t.Observed {
			more++
		}
	}
	t.P = math.Min(2*float64(min(fewer, more)+1)/float64(trainDraws+1), 1)
	return t
}

// against lists the reasons to refuse a fit.
func (f *ChosenFit) against() []string {
	var no []string
	say := func(format string, args ...any) { no = append(no, fmt.Sprintf(format, args...)) }
	switch {
	case f.Fit.Shape >= mostShape:
		say("the tail is too heavy: its shape, %.2f, is that of a distribution without a mean", f.Fit.Shape)
	case f.Fit.Shape <= leastShape:
		say("the tail ends abruptly (shape %.2f), where maximum likelihood is not valid: something bounds these latencies, such as a queue's length", f.Fit.Shape)
	}
	if f.Trend.RateP < checkLevel {
		say("slow packets became more or fewer while it was measured (p = %.2g)", f.Trend.RateP)
	}
	if f.Trend.EvenP < checkLevel {
		say("slow packets were unevenly distributed over time, more than by chance (p = %.2g)", f.Trend.EvenP)
	}
	if f.Trend.SizeP < checkLevel {
		say("slow packets became slower or faster while it was measured (p = %.2g)", f.Trend.SizeP)
	}
	if f.Train != nil && f.Train.P < checkLevel {
		say("a fit to the first half predicts %.1f clusters beyond %.0f in the second, where there were %d (p = %.2g)",
			f.Train.Expected, f.Train.Level, f.Train.Observed, f.Train.P)
	}
	return no
}
