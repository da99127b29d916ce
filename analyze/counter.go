package analyze

import (
	"maps"
	"slices"

	"nines.dev/nines/result"
)

// counter counts small integers in pages allocated on demand, and large ones, which are rare, in a
// map.
type counter struct {
	pages [][]uint32
	far   map[int64]uint32
}

const (
	pageBits = 12
	maxPages = 1 << 15 // 13 s in buckets of 100 ns
)

func (c *counter) add(bucket int64) {
	if page := bucket >> pageBits; uint64(page) < uint64(len(c.pages)) {
		if p := c.pages[page]; p != nil {
			p[bucket&(1<<pageBits-1)]++
			return
		}
	}
	c.make(bucket)
}

func (c *counter) make(bucket int64) {
	page := bucket >> pageBits
	if page >= maxPages {
		if c.far == nil {
			c.far = make(map[int64]uint32)
		}
		c.far[bucket]++
		return
	}
	if page >= int64(len(c.pages)) {
		c.pages = append(c.pages, make([][]uint32, page+1-int64(len(c.pages)))...)
	}
	if c.pages[page] == nil {
		c.pages[page] = make([]uint32, 1<<pageBits)
	}
	c.pages[page][bucket&(1<<pageBits-1)]++
}

// buckets lists the non-empty buckets in order.
func (c *counter) buckets() []Bucket {
	var list []Bucket
	for page, counts := range c.pages {
		for i, n := range counts {
			if n > 0 {
				list = append(list, Bucket{int64(page<<pageBits+i) * bucketNs, uint64(n)})
			}
		}
	}
	for _, bucket := range slices.Sorted(maps.Keys(c.far)) {
		list = append(list, Bucket{bucket * bucketNs, uint64(c.far[bucket])})
	}
	return list
}

// sparse counts into the buckets of an HdrHistogram with the range and digits of package result;
// record.go turns it into a histogram.
type sparse struct {
	counts   []uint32
	min, max int64
	sum      float64
	part     int64 // partial sum, small enough to stay exact
	count    uint64
}

func hdrIndex(ns int64) int64 { return result.IndexOf(min(ns, result.HighestNs)) }

func newSparse() *sparse { return &sparse{counts: make([]uint32, hdrIndex(result.HighestNs)+1)} }

func (s *sparse) add(ns int64) {
	if s.count == 0 {
		s.min, s.max = ns, ns
	}
	s.min, s.max = min(s.min, ns), max(s.max, ns)
	s.counts[hdrIndex(ns)]++
	s.count++
	if s.part += ns; s.part > 1<<52 { // a float64 is exact up to here
		s.sum += float64(s.part)
		s.part = 0
	}
}

func (s *sparse) sparse() result.Sparse {
	out := result.Sparse{Count: s.count, Min: s.min, Max: s.max, Sum: s.sum + float64(s.part)}
	first, used := s.used()
	for i, n := range used {
		if n > 0 {
			out.Counts = append(out.Counts, [2]int64{first + int64(i), int64(n)})
		}
	}
	return out
}

// used are the counts from that of the least value to that of the greatest, and the index of the first.
func (s *sparse) used() (first int64, counts []uint32) {
	if s.count == 0 {
		return 0, nil
	}
	first = hdrIndex(s.min)
	return first, s.counts[first : hdrIndex(s.max)+1]
}

// reset forgets all values.
func (s *sparse) reset() {
	_, used := s.used()
	clear(used)
	*s = sparse{counts: s.counts}
}
