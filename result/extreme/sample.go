package extreme

import (
	"cmp"
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
// time, such as one of captures. Its floor is the threshold that was published: p99.95 of
// the first 20 %; what came later has no say in it.
func FromAll(values, timesNs []int64) Sample {
	s := Sample{Total: uint64(len(values)), Floor: math.Inf(-1)}
	if len(values) == 0 {
		return s
	}
	first := slices.Clone(values[:max(int(publishedPart*float64(len(values))), 1)])
	slices.Sort(first)
	s.Floor = float64(first[max(int(math.Ceil(publishedPercentile*float64(len(first)))), 1)-1])
	s.SpanNs = timesNs[len(timesNs)-1] - timesNs[0]
	var points []Point
	for i, v := range values {
		if float64(v) > s.Floor {
			points = append(points, Point{float64(v), timesNs[i] - timesNs[0]})
		}
	}
	s.keep(points)
	return s
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
