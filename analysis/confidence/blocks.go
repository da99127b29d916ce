package confidence

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"nines.dev/nines/result"
)

// Blocks are the packets of one measurement by latency and by the block of time in which they arrived.
//
// One stall delays many neighbouring packets, so the slowest packets are far fewer events than packets. How unevenly
// they are spread over the blocks tells the size of such a cluster, and this the effective count: that of independent
// packets. docs/statistics.md has the formulas, and how often the intervals hold in simulation.
type Blocks struct {
	cells  []cell // largest values first
	blocks int
	total  uint64
}

// cell is how many packets of a block are in a bucket of latency, from low to high.
type cell struct {
	low, high float64
	block     int
	count     float64
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
	var b Blocks
	for _, trial := range trials {
		join := 1
		for divisor := 2; divisor <= len(trial); divisor++ {
			if len(trial)%divisor == 0 && len(trials)*len(trial)/divisor >= enoughBlocks {
				join = divisor
			}
		}
		for i, block := range trial {
			for bucket := range block.Buckets() {
				b.add(float64(bucket.LowNs), float64(bucket.HighNs), b.blocks+i/join, bucket.Count)
			}
		}
		b.blocks += (len(trial) + join - 1) / join
	}
	b.sort()
	return b
}

func (b *Blocks) add(low, high float64, block int, count uint64) {
	b.cells = append(b.cells, cell{low, high, block, float64(count)})
	b.total += count
}

func (b *Blocks) sort() {
	slices.SortFunc(b.cells, func(x, y cell) int { return cmp.Compare(y.high, x.high) })
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
	s := b.spread()
	below := false // the upper end
	for i := 0; i < len(b.cells); {
		// All packets in s are above this value.
		high, low := b.cells[i].high, b.cells[i].low
		c := max(s.cluster(), least)
		if !below && mathext.GammaIncReg(s.sum/c+1, expected/c) <= 1-tail {
			below = true
			if i > 0 { // else even the largest value is within
				found.High = &b.cells[i-1].high
			}
		}
		if s.sum <= expected || mathext.GammaIncReg(s.sum/c, expected/c) >= tail {
			found.Low = &low
		}
		for ; i < len(b.cells) && b.cells[i].high == high; i++ {
			s.add(b.cells[i])
		}
	}
	return found
}

// at is the value at a rank, from 1 for the smallest.
func (b *Blocks) at(rank uint64) float64 {
	beyond := float64(b.total - rank)
	for _, c := range b.cells {
		if beyond -= c.count; beyond < 0 {
			return c.high
		}
	}
	return math.NaN()
}

// fewestTold is how many packets the size of a cluster is taken from at least.
const fewestTold = 30

// clusterOf is the size of a cluster among the largest values, at least so many.
func (b *Blocks) clusterOf(packets float64) float64 {
	s := b.spread()
	for i := 0; i < len(b.cells) && s.sum < packets; i++ {
		s.add(b.cells[i])
	}
	return s.cluster()
}

func (b *Blocks) spread() spread { return spread{in: make([]float64, b.blocks)} }

// spread is how packets are spread over the blocks.
type spread struct {
	in                []float64 // each block
	sum, squares, max float64   // of all
}

func (s *spread) add(c cell) {
	before := s.in[c.block]
	now := before + c.count
	s.in[c.block] = now
	s.sum += c.count
	s.squares += now*now - before*before
	s.max = max(s.max, now)
}

// cluster is the size of the cluster that a packet is in, on average: for w packets in a block, Σw²/Σw, less the mean
// of w, which independent packets have as well. One more block like the fullest is taken to be there, because the next
// cluster may be larger than any that was seen (Fay and Feuer 1997, "Confidence intervals for directly standardized
// rates", do the same).
func (s *spread) cluster() float64 {
	if s.sum == 0 {
		return 1
	}
	return max((s.squares+s.max*s.max)/(s.sum+s.max)-s.sum/float64(len(s.in)), 1)
}
