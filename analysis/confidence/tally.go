package confidence

import (
	"cmp"
	"slices"

	"nines.dev/nines/result"
)

// tally counts packets by latency and block of time.
type tally struct {
	cells  []cell
	blocks int
}

// cell is how many packets of a block are in a bucket of latency, from low to high.
type cell struct {
	low, high float64
	block     int
	count     float64
	weight    float64 // of each of them
}

// divide returns how many neighbouring blocks of a trial become one, so that this many trials still have at least a
// number of blocks.
func divide(blocks, least, trials int) int {
	join := 1
	for divisor := 2; divisor <= blocks; divisor++ {
		if blocks%divisor == 0 && trials*blocks/divisor >= least {
			join = divisor
		}
	}
	return join
}

// addTrial counts the blocks of a trial, of which so many neighbours become one.
func (t *tally) addTrial(blocks []*result.Packed, join int) {
	for i, block := range blocks {
		for bucket := range block.Buckets() {
			t.add(float64(bucket.LowNs), float64(bucket.HighNs), t.blocks+i/join, bucket.Count)
		}
	}
	t.blocks += (len(blocks) + join - 1) / join
}

func (t *tally) add(low, high float64, block int, count uint64) {
	t.cells = append(t.cells, cell{low, high, block, float64(count), 1})
}

// weigh gives what was counted weights, which it scales so that they add up to a number of packets.
func (t *tally) weigh(packets uint64, weight func(latencyNs float64) float64) Blocks {
	sum := 0.0
	for i := range t.cells {
		c := &t.cells[i]
		c.weight = weight((c.low + c.high) / 2)
		sum += c.count * c.weight
	}
	for i := range t.cells {
		t.cells[i].weight *= float64(packets) / sum
	}
	b := t.blocksOf()
	b.total = packets
	return b
}

// blocksOf adds up what was counted, from the largest values on.
func (t *tally) blocksOf() Blocks {
	slices.SortFunc(t.cells, func(x, y cell) int { return cmp.Compare(y.high, x.high) })
	b := Blocks{blocks: t.blocks}
	in := make([]float64, t.blocks) // packets of each block
	var at step
	for i, c := range t.cells {
		before := in[c.block]
		now := before + c.count*c.weight
		in[c.block] = now
		at.low, at.high = c.low, c.high
		at.above += c.count * c.weight
		at.alone += c.count * c.weight * c.weight
		at.in = spread{at.in.squares + now*now - before*before, max(at.in.largest, now)}
		if i == len(t.cells)-1 || t.cells[i+1].high != c.high {
			b.steps = append(b.steps, at)
		}
	}
	b.total = uint64(at.above)
	return b
}

// trial adds up what was counted of one trial.
func (t *tally) trial() Blocks {
	b := t.blocksOf()
	b.trials = 1
	for i := range b.steps {
		w := b.steps[i].above
		b.steps[i].of = spread{w * w, w}
	}
	return b
}
