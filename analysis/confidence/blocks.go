package confidence

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"nines.dev/nines/result"
)

// Blocks are the packets of one measurement by latency, and how those above each latency are spread over the blocks of
// time in which they arrived.
//
// One stall delays many neighbouring packets, so the slowest packets are far fewer events than packets. How unevenly
// they are spread over the blocks tells the size of such a cluster, and this the effective count: that of independent
// packets. docs/statistics.md has the formulas, and how often the intervals hold in simulation.
type Blocks struct {
	steps  []step // largest values first
	blocks int
	trials int // 0: not told apart
	total  uint64
}

// step is a bucket of latency, from low to high, with all packets that are in it or above.
type step struct {
	low, high float64
	above     float64 // how many packets, by weight
	alone     float64 // the sum of their squared weights
	in        spread  // over the blocks
	of        spread  // over the trials
}

// spread is how packets are spread over parts of a measurement: with w packets in a part, the sum of w², and the
// largest w. The spread over the parts of two measurements follows from that of each.
type spread struct{ squares, largest float64 }

func (s spread) and(t spread) spread {
	return spread{s.squares + t.squares, max(s.largest, t.largest)}
}

// More blocks than enough do not make the intervals better, but hide clusters that are longer than a block. With fewer
// than least, the spread over them is chance.
const (
	enoughBlocks = 100
	leastBlocks  = 20
)

// BlocksOf takes the time blocks of each trial of a measurement. It joins neighbouring blocks if there are more than
// enough, always the same number: blocks of different length would look like clusters.
func BlocksOf(trials [][]*result.Packed) Blocks {
	var all tally
	for _, trial := range trials {
		all.addTrial(trial, divide(len(trial), enoughBlocks, len(trials)))
	}
	return all.blocksOf()
}

// Weighted takes the time blocks of a trial whose packets stand for others, by a weight for each latency. packets is the
// number that they stand for in all.
func Weighted(blocks []*result.Packed, packets uint64, weight func(latencyNs float64) float64) Blocks {
	var all tally
	all.addTrial(blocks, 1)
	return all.weigh(packets, weight)
}

// TrialBlocks takes the time blocks of one of many trials that are far apart: Add joins them. Its blocks are long, as
// a bound from several trials rests on clusters of any length, up to that of a trial.
func TrialBlocks(blocks []*result.Packed) Blocks {
	var one tally
	one.addTrial(blocks, divide(len(blocks), leastBlocks, 1))
	return one.trial()
}

// Add joins the blocks of other trials to these. Where buckets overlap, their packets count at their high ends.
func (b *Blocks) Add(other Blocks) {
	var joined []step
	last, otherLast := step{low: math.Inf(1)}, step{low: math.Inf(1)}
	for i, j := 0, 0; i < len(b.steps) || j < len(other.steps); {
		at := step{high: math.Inf(-1)}
		if i < len(b.steps) {
			at = b.steps[i]
		}
		if j < len(other.steps) && other.steps[j].high > at.high {
			at = other.steps[j]
		}
		if i < len(b.steps) && b.steps[i].high == at.high {
			last = b.steps[i]
			i++
		}
		if j < len(other.steps) && other.steps[j].high == at.high {
			otherLast = other.steps[j]
			j++
		}
		joined = append(joined, step{min(last.low, otherLast.low), at.high, last.above + otherLast.above, last.alone + otherLast.alone, last.in.and(otherLast.in), last.of.and(otherLast.of)})
	}
	b.steps, b.blocks, b.trials, b.total = joined, b.blocks+other.blocks, b.trials+other.trials, b.total+other.total
}

// Thin joins neighbouring buckets of latency until each has a fiftieth more packets in it and above than the one before:
// some hundred for any number of packets. Upper ends get no smaller by it, and larger by at most such a bucket.
func (b *Blocks) Thin() {
	const more = 1.02
	var kept []step
	before, high := 0.0, math.Inf(1)
	for i, s := range b.steps {
		if math.IsInf(high, 1) {
			high = s.high
		}
		if s.above >= more*before || i == len(b.steps)-1 {
			before = s.above
			s.high, high = high, math.Inf(1)
			kept = append(kept, s)
		}
	}
	b.steps = kept
}

// Total is the number of packets.
func (b *Blocks) Total() uint64 { return b.total }

// Tell reports whether the blocks are enough for an interval.
func (b *Blocks) Tell() bool { return b.blocks >= leastBlocks }

// Percentile is a percentile of a measurement with its interval.
type Percentile struct {
	Value float64
	// Low and High bound it. High is nil if it is open: too few clusters lie beyond.
	Low, High *float64
	// Clusters is how many are expected beyond the percentile: 1 − p of all packets, by the size of a cluster.
	Clusters float64
}

// Percentile returns p, 0 < p < 1, which the number of packets must support (result.Supports), with its interval at a
// level; without one if the blocks do not tell.
//
// For a value v with y packets above it, let c be the size of a cluster. y/c clusters are as many events of a Poisson
// process, whose expected number is between two quantiles of the χ² distribution (Garwood 1936, "Fiducial limits for
// the Poisson distribution"). The interval is every v for which this range, times c, has the N(1 − p) packets that are
// expected above the percentile.
func (b *Blocks) Percentile(p, level float64) Percentile {
	expected := (1 - p) * float64(b.total)
	found := Percentile{Value: b.at(result.Rank(p, b.total))}
	if !b.Tell() {
		return found
	}
	// The largest values are too few to tell their cluster: c is at least that of twice as many as are expected.
	least := b.clusterOf(max(2*expected, fewestTold))
	found.Clusters = expected / least
	tail := (1 - level) / 2
	below := false // the upper end
	var above step // the packets above the value
	for i := range len(b.steps) + 1 {
		c := max(b.cluster(above), least)
		if !below && mathext.GammaIncReg(above.above/c+1, expected/c) <= 1-tail {
			below = true
			if i > 0 { // else even the largest value is within
				found.High = &b.steps[i-1].high
			}
		}
		if i == len(b.steps) { // all packets are above
			break
		}
		if above.above <= expected || mathext.GammaIncReg(above.above/c, expected/c) >= tail {
			found.Low = &b.steps[i].low
		}
		above = b.steps[i]
	}
	return found
}

// at is the value at a rank, from 1 for the smallest.
func (b *Blocks) at(rank uint64) float64 {
	beyond := float64(b.total - rank)
	for _, s := range b.steps {
		if s.above > beyond {
			return s.high
		}
	}
	return math.NaN()
}

// fewestTold is how many packets the size of a cluster is taken from at least.
const fewestTold = 30

// clusterOf is the size of a cluster among the largest values, at least so many.
func (b *Blocks) clusterOf(packets float64) float64 {
	var s step
	for i := 0; i < len(b.steps) && s.above < packets; i++ {
		s = b.steps[i]
	}
	return b.cluster(s)
}

// cluster is the size of the cluster that a packet is in, on average: for w packets in a block, Σw²/Σw, less the mean
// of w, which independent packets have as well. One more block like the fullest is taken to be there, because the next
// cluster may be larger than any that was seen (Fay and Feuer 1997, "Confidence intervals for directly standardized
// rates", do the same). What lasts longer than a trial makes clusters of whole trials; of these, which are few, one
// more would make every cluster large.
func (b *Blocks) cluster(s step) float64 {
	if s.above == 0 {
		return 1
	}
	c := (s.in.squares+s.in.largest*s.in.largest)/(s.above+s.in.largest) - s.above/float64(b.blocks)
	if b.trials > 1 {
		c = max(c, s.of.squares/s.above-s.above/float64(b.trials))
	}
	return max(c, s.alone/s.above) // the spread of independent packets
}
