package duet

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"nines.dev/nines/analysis/confidence"
)

// leastBlocks is how many blocks are drawn from at least.
const leastBlocks = 20

// resampler has how often each draw takes each block: as many blocks as there are, with replacement. A drawn block
// brings its packets of both sides, as they met the same host (a joint bootstrap of blocks; Künsch 1989, "The jackknife
// and the bootstrap for general stationary observations").
type resampler struct {
	once  []float64 // each block once
	draws [][]float64
}

func (t *Trial) resample() *resampler {
	n := len(t.blocks)
	random := rand.New(rand.NewPCG(uint64(n), uint64(t.looks)))
	r := &resampler{once: make([]float64, n)}
	for i := range r.once {
		r.once[i] = 1
	}
	for range t.options.Draws {
		draw := make([]float64, n)
		for range n {
			draw[random.IntN(n)]++
		}
		r.draws = append(r.draws, draw)
	}
	return r
}

// compare returns the bounds of B's value less A's, and of B's over A's; wrong is the chance that they do not hold the
// truth. value is that of a side, if each block is taken a number of times. There is no ratio if a draw has nothing to
// divide by.
func (r *resampler) compare(value func(side Side, times []float64) float64, wrong float64) (difference, ratio *Interval) {
	a, b := value(A, r.once), value(B, r.once)
	difference, ratio = &Interval{b - a, b - a, b - a}, &Interval{b / a, b / a, b / a}
	differences, ratios := make([]float64, len(r.draws)), make([]float64, len(r.draws))
	for i, draw := range r.draws {
		x, y := value(A, draw), value(B, draw)
		differences[i], ratios[i] = y-x, y/x
		if x == 0 {
			ratio = nil
		}
	}
	difference.widen(differences, wrong)
	if ratio != nil {
		ratio.widen(ratios, wrong)
	}
	return difference, ratio
}

// widen takes in the middle 95 % of resampled values, and for another chance to be wrong as much more on each side as of
// a normal distribution: so few draws do not tell the far ends.
func (i *Interval) widen(drawn []float64, wrong float64) {
	slices.Sort(drawn)
	tail := int((1 - confidence.Level) / 2 * float64(len(drawn)))
	further := distuv.UnitNormal.Quantile(1-wrong/2) / distuv.UnitNormal.Quantile(1-(1-confidence.Level)/2)
	i.Low = min(i.Low, i.Value-further*(i.Value-drawn[tail]))
	i.High = max(i.High, i.Value+further*(drawn[len(drawn)-1-tail]-i.Value))
}
