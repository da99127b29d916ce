package metrics

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"nines.dev/nines/result"
)

// series writes values into block, from packet `at` on, and returns how many, and the next packet:
// its length at the end. It runs several times, so no distribution needs memory in proportion to
// its packets.
type series struct {
	length int
	next   func(at int, block []int64) (values, next int)
}

const blockLength = 4096

func (s series) each(do func(block []int64)) {
	var block [blockLength]int64
	for at := 0; at < s.length; {
		n, next := s.next(at, block[:])
		if n > 0 {
			do(block[:n])
		}
		at = next
	}
}

// The first pass sorts values into buckets of four to five digits, like an HdrHistogram; later
// passes count within the buckets that hold the wanted ranks, until each value there has its own
// bucket.
const (
	coarseBits = 14 // values below 2^14 have their own buckets
	fineBits   = 15
	coarseHalf = 1 << (coarseBits - 1)
)

// coarseBucket rises with the value; the bucket of −1 is −1.
func coarseBucket(v int64) int {
	sign := v >> 63
	x := uint64(v ^ sign)
	bucket := int(x)
	if x >= 1<<coarseBits {
		shift := bits.Len64(x) - coarseBits
		bucket = shift*coarseHalf + int(x>>shift)
	}
	return bucket ^ int(sign)
}

// coarseRange returns a bucket's lowest value and the number of bits of its width.
func coarseRange(bucket int) (low int64, shift int) {
	if bucket < 0 {
		low, shift = coarseRange(^bucket)
		return ^(low + 1<<shift - 1), shift
	}
	if bucket < 1<<coarseBits {
		return int64(bucket), 0
	}
	shift = bucket/coarseHalf - 1
	return int64(bucket-shift*coarseHalf) << shift, shift
}

// coarse counts values in buckets, from the first bucket in use.
type coarse struct {
	first  int
	counts []uint64
}

func (c *coarse) add(block []int64) {
	for _, v := range block {
		at := coarseBucket(v) - c.first
		if uint(at) >= uint(len(c.counts)) {
			at = c.reach(at)
		}
		c.counts[at]++
	}
}

// reach makes room for a bucket before or after the existing ones, and returns its index.
func (c *coarse) reach(at int) int {
	before := 0
	if at < 0 {
		before = max(-at, len(c.counts))
	}
	counts := make([]uint64, before+max(at+1, len(c.counts))+coarseHalf)
	copy(counts[before:], c.counts)
	c.first, c.counts = c.first-before, counts
	return at + before
}

// target is a rank being narrowed down to its value.
type target struct {
	rank  uint64 // counted from 1 within [low, low + 2^shift)
	low   int64
	shift int
}

// percentiles summarises a series exactly.
func percentiles(s series) result.Percentiles {
	var count uint64
	var first, least, most int64
	var above float64 // sum of all values minus the first, to keep precision
	var buckets coarse
	s.each(func(block []int64) {
		if count == 0 {
			first, least, most = block[0], block[0], block[0]
		}
		var sum int64
		for _, v := range block {
			least, most = min(least, v), max(most, v)
			sum += v - first
		}
		above += float64(sum)
		count += uint64(len(block))
		buckets.add(block)
	})
	if count == 0 {
		return result.Percentiles{}
	}
	var ranks []uint64
	for _, p := range result.NamedPercentiles() {
		ranks = append(ranks, result.Rank(p.P, count))
	}
	values := ranked(s, buckets, ranks)
	return result.MakePercentiles(count, least, most, float64(first)+above/float64(count), func(p result.Percentile) int64 {
		return values[result.Rank(p.P, count)]
	})
}

// ranked finds the values of ranks counted from 1.
func ranked(s series, buckets coarse, ranks []uint64) map[uint64]int64 {
	targets := make([]target, len(ranks))
	wanted := make([]bool, len(buckets.counts))
	for i, rank := range ranks {
		bucket, within := locate(buckets.counts, rank)
		low, shift := coarseRange(bucket + buckets.first)
		targets[i] = target{within, low, shift}
		wanted[bucket] = shift > 0
	}
	for slices.ContainsFunc(targets, func(t target) bool { return t.shift > 0 }) {
		refine(s, func(v int64) bool { return wanted[coarseBucket(v)-buckets.first] }, targets)
	}
	values := make(map[uint64]int64, len(ranks))
	for i, rank := range ranks {
		values[rank] = targets[i].low
	}
	return values
}

// locate finds the bucket of a rank and the rank within it.
func locate(counts []uint64, rank uint64) (bucket int, within uint64) {
	for bucket, n := range counts {
		if rank <= n {
			return bucket, rank
		}
		rank -= n
	}
	panic("metrics: a rank beyond the last value")
}

// span is the range of one or more targets, counted in 2^fineBits parts.
type span struct {
	low    int64
	shift  int // bits of the whole
	part   int // bits of a part
	counts []uint64
}

// refine narrows every target that is not a single value yet. No target contains unwanted values.
func refine(s series, wanted func(v int64) bool, targets []target) {
	spans := make(map[int64]*span)
	from := int64(math.MaxInt64)
	for _, t := range targets {
		if t.shift > 0 && spans[t.low] == nil {
			part := max(0, t.shift-fineBits)
			spans[t.low] = &span{t.low, t.shift, part, make([]uint64, 1<<(t.shift-part))}
			from = min(from, t.low)
		}
	}
	list := slices.Collect(maps.Values(spans))
	s.each(func(block []int64) {
		for _, v := range block {
			if v < from || !wanted(v) {
				continue
			}
			for _, sp := range list {
				if d := uint64(v - sp.low); d>>sp.shift == 0 { // below low it wraps around
					sp.counts[d>>sp.part]++
				}
			}
		}
	})
	for i := range targets {
		t := &targets[i]
		if t.shift == 0 {
			continue
		}
		sp := spans[t.low]
		at, within := locate(sp.counts, t.rank)
		*t = target{within, sp.low + int64(at)<<sp.part, sp.part}
	}
}

// shifted adds an offset to every value of a summary.
func shifted(p result.Percentiles, by int64) result.Percentiles {
	return result.MakePercentiles(p.Count, *p.Min+by, *p.Max+by, *p.Mean+float64(by), func(n result.Percentile) int64 {
		return *n.Of(p) + by
	})
}

func sortedRuns(counts map[uint64]uint64) []result.LossRun {
	runs := make([]result.LossRun, 0, len(counts))
	for _, length := range slices.Sorted(maps.Keys(counts)) {
		runs = append(runs, result.LossRun{Length: length, Count: counts[length]})
	}
	return runs
}
