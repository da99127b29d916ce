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
	once []float64 // each block once
	// draws are a list for each length of a run: neighbouring blocks that are drawn together.
	draws [][][]float64
}

// Where each side has a CPU of its own, what slows one down is not the other's, and lasts longer than a block. So runs of
// several blocks are drawn as well, of 0.1 and 0.5 s, and the widest interval counts.
var runs = []int{1, 5, 25}

// leastRuns is how many runs of a part are drawn from at least.
const leastRuns = 8

func (t *Trial) resample() *resampler {
	n := len(t.blocks)
	random := rand.New(rand.NewPCG(uint64(n), uint64(t.looks)))
	r := &resampler{once: make([]float64, n)}
	for i := range r.once {
		r.once[i] = 1
	}
	for _, run := range runs {
		if run > 1 && (!t.options.Swapped || n < 2*leastRuns*run) {
			break
		}
		r.draws = append(r.draws, t.draws(random, run))
	}
	return r
}

// draws takes runs of blocks, of each part of the trial as many as it has.
func (t *Trial) draws(random *rand.Rand, run int) [][]float64 {
	draws := make([][]float64, t.options.Draws)
	parts := t.parts()
	for i := range draws {
		draw := make([]float64, len(t.blocks))
		for _, blocks := range parts {
			for range len(blocks) / run {
				first := random.IntN(len(blocks)/run) * run
				for _, block := range blocks[first:min(first+run, len(blocks))] {
					draw[block]++
				}
			}
		}
		draws[i] = draw
	}
	return draws
}

// parts are the blocks of each part of the trial. They stand for one another: where the sides swap their CPUs every
// second, those of the even and of the odd seconds.
func (t *Trial) parts() [][]int {
	parts := make([][]int, 1)
	if t.options.Swapped {
		parts = make([][]int, 2)
	}
	for i := range t.blocks {
		part := t.partOf(i)
		parts[part] = append(parts[part], i)
	}
	return parts
}

func (t *Trial) partOf(block int) int {
	const second = 1_000_000_000 / blockNs
	if !t.options.Swapped {
		return 0
	}
	return block / second % 2
}

// compare returns the bounds of B's value less A's, and of B's over A's; wrong is the chance that they do not hold the
// truth. value is that of a side, if each block is taken a number of times. There is no ratio if a draw has nothing to
// divide by.
func (r *resampler) compare(value func(side Side, times []float64) float64, wrong float64) (difference, ratio *Interval) {
	a, b := value(A, r.once), value(B, r.once)
	difference, ratio = &Interval{b - a, b - a, b - a}, &Interval{b / a, b / a, b / a}
	for _, draws := range r.draws {
		differences, ratios := make([]float64, len(draws)), make([]float64, len(draws))
		for i, draw := range draws {
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
