package extreme

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// Point is one of the largest values, with its time.
type Point struct {
	Value float64
	// AtNs is when the packet was due, since the sample's begin.
	AtNs int64
}

// Sample is what is known of a tail: all values above Floor, exactly.
type Sample struct {
	// Points are all values above Floor, in the order of time.
	Points []Point
	Floor  float64
	// Total is how many values there are, those at or below Floor included.
	Total uint64
	// SpanNs is the time in which they were taken.
	SpanNs int64
}

// FromWorst is the sample of a trial whose largest values are known: an outliers.csv, or
// the published worst-of files. The least of them is the floor, unless they are all that
// there is, for as many others may be equal to it. The order does not matter.
func FromWorst(worst []Point, total uint64, spanNs int64) Sample {
	s := Sample{Total: max(total, uint64(len(worst))), SpanNs: spanNs, Floor: math.Inf(-1)}
	if uint64(len(worst)) < s.Total && len(worst) > 0 {
		s.Floor = slices.MinFunc(worst, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) }).Value
	}
	s.keep(worst)
	return s
}

// The published group's threshold (docs/statistics.md): the 99.95th percentile of the
// first fifth of a measurement.
const (
	publishedPercentile = 0.9995
	publishedPart       = 0.2
)

// FromAll is the sample of a measurement all of whose values are known, in the order of
// time, such as one of captures; its floor is a Collector's.
func FromAll(values, timesNs []int64) Sample {
	if len(values) == 0 {
		return NewCollector(0).Sample(0)
	}
	c := NewCollector(uint64(len(values)))
	for i, v := range values {
		c.Add(float64(v), timesNs[i]-timesNs[0])
	}
	return c.Sample(timesNs[len(timesNs)-1] - timesNs[0])
}

// Collector takes all values of a measurement one after the other, however many, and
// keeps those above the threshold that was published: p99.95 of the first 20 %. What came
// later has no say in it.
type Collector struct {
	first uint64 // how many values make the threshold
	keep  int    // the threshold is the one at this place of theirs, from the top
	seen  uint64
	floor float64
	most  leastFirst // of the first, the largest
	rest  []Point
}

// NewCollector expects a number of values.
func NewCollector(total uint64) *Collector {
	first := max(uint64(publishedPart*float64(total)), 1)
	rank := uint64(math.Ceil(publishedPercentile * float64(first)))
	return &Collector{first: first, keep: int(first-rank) + 1, floor: math.Inf(-1)}
}

// Add takes a value, and when it was taken since the begin.
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

// Sample is what was collected in a time.
func (c *Collector) Sample(spanNs int64) Sample {
	s := Sample{Floor: c.floor, Total: c.seen, SpanNs: spanNs}
	s.keep(slices.Concat(c.most, c.rest))
	return s
}

// leastFirst is a heap of points with the least at its root.
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

// Pool puts the repeats of one measurement one after the other. Above the highest of
// their floors all values of all are known.
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
	}
	all.keep(points)
	return all
}

// keep takes the points above the floor, in the order of time.
func (s *Sample) keep(points []Point) {
	s.Points = slices.Clone(points)
	s.Points = slices.DeleteFunc(s.Points, func(p Point) bool { return p.Value <= s.Floor || math.IsNaN(p.Value) || math.IsInf(p.Value, 0) })
	slices.SortStableFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.AtNs, b.AtNs) })
}

// falling are the values, the largest first.
func (s Sample) falling() []float64 {
	values := make([]float64, len(s.Points))
	for i, p := range s.Points {
		values[i] = p.Value
	}
	slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
	return values
}

// above are the points over a threshold, in the order of time.
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
