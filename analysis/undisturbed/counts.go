package undisturbed

import "nines.dev/nines/result"

// counts are packets by latency and block of time. Packets come in the order in which they were due, so that one block
// at a time is spread out.
type counts struct {
	blocks   []*result.Packed
	lengthNs int64
	now      []int64 // of the block under way, by result.IndexOf
	used     []int64 // the indexes in it
}

func newCounts(blocks int, lengthNs int64) *counts {
	return &counts{blocks: make([]*result.Packed, 0, blocks), lengthNs: max(lengthNs, 1), now: make([]int64, result.IndexOf(result.HighestNs)+1)}
}

func (c *counts) add(dueNs, latencyNs int64) {
	block := min(int(float64(dueNs)/float64(c.lengthNs)*float64(cap(c.blocks))), cap(c.blocks)-1)
	for len(c.blocks) < block {
		c.next()
	}
	index := result.IndexOf(min(max(latencyNs, 0), result.HighestNs))
	if c.now[index] == 0 {
		c.used = append(c.used, index)
	}
	c.now[index]++
}

// next ends the block under way.
func (c *counts) next() {
	pairs := make([]int64, 0, 2*len(c.used))
	for _, index := range c.used {
		pairs = append(pairs, index, c.now[index])
		c.now[index] = 0
	}
	c.used = c.used[:0]
	packed, err := result.PackCounts(pairs)
	if err != nil {
		panic(err) // each index is one of the layout, and each count positive
	}
	c.blocks = append(c.blocks, packed)
}

// packed ends all blocks.
func (c *counts) packed() []*result.Packed {
	for len(c.blocks) < cap(c.blocks) {
		c.next()
	}
	return c.blocks
}
