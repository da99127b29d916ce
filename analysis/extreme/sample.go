package extreme

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"nines.dev/nines/result"
)

// Point is one of the largest values, with its time.
type Point struct {
	Value float64
	// AtNs is when the packet was due, since the start of the sample.
	AtNs int64
}

// Sample is what is known about a tail: all values above Floor, exactly.
type Sample struct {
	// Points are all values above Floor, in time order.
	Points []Point
	Floor  float64
	// Total is the number of all values, including those at or below Floor.
	Total uint64
	// SpanNs is the duration of the measurement.
	SpanNs int64
	// Blocks are all values by time, for each trial of the measurement; or Lacking says why they are not known.
	Blocks  [][]*result.Packed
	Lacking string
}

// FromWorst makes the sample of a trial whose largest values are known: an outliers.csv, or the
// published worst-of files. The smallest of them is the floor, because other packets may equal it,
// unless these are all values. Any order will do.
func FromWorst(worst []Point, total uint64, spanNs int64) Sample {
	s := Sample{Total: max(total, uint64(len(worst))), SpanNs: spanNs, Floor: math.Inf(-1), Lacking: noBlocks}
	if uint64(len(worst)) < s.Total && len(worst) > 0 {
		s.Floor = slices.MinFunc(worst, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) }).Value
	}
	s.keep(worst)
	return s
}

// noBlocks is why a sample of the slowest packets alone has no interval.
const noBlocks = "only the slowest packets are known, not when all of them arrived"

// The threshold in the published work (docs/statistics.md): the 99.95th percentile of the first
// fifth of a measurement.
const (
	publishedPercentile = 0.9995
	publishedPart       = 0.2
)

// Collector takes all values of a measurement one by one, however many, and keeps those above the
// published threshold: p99.95 of the first 20 %. Later values do not change the threshold.
type Collector struct {
	first uint64 // number of values that set the threshold
	keep  int    // the threshold is their value at this place from the top
	seen  uint64
	floor float64
	most  leastFirst // the largest of the first
	rest  []Point
}

// NewCollector returns a collector for total values.
func NewCollector(total uint64) *Collector {
	first := max(uint64(publishedPart*float64(total)), 1)
	return &Collector{first: first, keep: int(first-result.Rank(publishedPercentile, first)) + 1, floor: math.Inf(-1)}
}

// Add takes a value and its time since the start.
func (c *Collector) Add(value float64, atNs int64) {
	c.seen++
	switch {
	case c.seen > c.first:
		if value > c.floor {
			c.rest = append(c.rest, Point{value, atNs})
		}
		return
	case len(c.most) < c.keep:
		heap.Push(&c.most, Point{value, atNs})
	case value > c.most[0].Value:
		c.most[0] = Point{value, atNs}
		heap.Fix(&c.most, 0)
	}
	if c.seen == c.first {
		c.floor = c.most[0].Value
	}
}

// Sample returns what was collected in spanNs.
func (c *Collector) Sample(spanNs int64) Sample {
	s := Sample{Floor: c.floor, Total: c.seen, SpanNs: spanNs, Lacking: noBlocks}
	s.keep(slices.Concat(c.most, c.rest))
	return s
}

// leastFirst is a heap of points with the smallest at its root.
type leastFirst []Point

func (h leastFirst) Len() int           { return len(h) }
func (h leastFirst) Less(i, j int) bool { return h[i].Value < h[j].Value }
func (h leastFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *leastFirst) Push(point any)    { *h = append(*h, point.(Point)) }
func (h *leastFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Pool concatenates the repeats of one measurement. Above the highest of their floors, all values
// of all repeats are known.
func Pool(samples ...Sample) Sample {
	all := Sample{Floor: math.Inf(-1)}
	var points []Point
	for _, s := range samples {
		for _, p := range s.Points {
			points = append(points, Point{p.Value, p.AtNs + all.SpanNs})
		}
		all.SpanNs += s.SpanNs
		all.Total += s.Total
		all.Floor = max(all.Floor, s.Floor)
		all.Blocks = append(all.Blocks, s.Blocks...)
		all.Lacking = cmp.Or(all.Lacking, s.Lacking)
	}
	all.keep(points)
	return all
}

// keep takes the points above the floor, in time order.
func (s *Sample) keep(points []Point) {
	s.Points = slices.Clone(points)
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Value <= s.Floor || math.IsNaN(p.Value) || math.IsInf(p.Value, 0) })
	slices.SortStableFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.AtNs, b.AtNs) })
}

// falling returns the values, largest first.
func (s Sample) falling() []float64 {
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.Value
	}
	slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
	return values
}

// above returns the points above a threshold, in time order.
func (s Sample) above(threshold float64) []Point {
	var points []Point
	for _, p := range s.Points {
		if p.Value > threshold {
			points = append(points, p)
		}
	}
	return points
}

func excesses(points []Point, threshold float64) []float64 {
	ys := make([]float64, len(points))
	for i, p := range points {
		ys[i] = p.Value - threshold
	}
	return ys
}
