package result

import "sort"

// Percentile is a percentile that a summary names.
type Percentile struct {
	Name string  // "p99_9", as in summary.json
	P    float64 // 0.999
	// Samples is 1/(1−p), the fewest that support the percentile.
	Samples uint64
	field   func(*Percentiles) **int64
}

// NamedPercentiles lists the percentiles of a summary, in rising order.
func NamedPercentiles() []Percentile {
	return []Percentile{
		{"p50", 0.5, 2, func(p *Percentiles) **int64 { return &p.P50 }},
		{"p90", 0.9, 10, func(p *Percentiles) **int64 { return &p.P90 }},
		{"p99", 0.99, 100, func(p *Percentiles) **int64 { return &p.P99 }},
		{"p99_9", 0.999, 1_000, func(p *Percentiles) **int64 { return &p.P999 }},
		{"p99_99", 0.9999, 10_000, func(p *Percentiles) **int64 { return &p.P9999 }},
		{"p99_999", 0.99999, 100_000, func(p *Percentiles) **int64 { return &p.P99999 }},
		{"p99_9999", 0.999999, 1_000_000, func(p *Percentiles) **int64 { return &p.P6N }},
	}
}

// Of returns the percentile's value in nanoseconds, nil if there is none.
func (n Percentile) Of(p Percentiles) *int64 { return *n.field(&p) }

// MakePercentiles makes a summary of count values: it calls at for the percentiles that they
// support. With count 0 all are nil.
func MakePercentiles(count uint64, least, most int64, mean float64, at func(Percentile) int64) Percentiles {
	out := Percentiles{Count: count}
	if count == 0 {
		return out
	}
	out.Min, out.Max, out.Mean = &least, &most, &mean
	for _, named := range NamedPercentiles() {
		if Supports(named.P, count) {
			value := at(named)
			*named.field(&out) = &value
		}
	}
	return out
}

// Figure is a value of Percentiles by its name in summary.json, "min" to "max"; "mean" is rounded
// to a nanosecond. It is nil if the count does not support it.
func (p Percentiles) Figure(name string) *int64 {
	switch name {
	case "min":
		return p.Min
	case "max":
		return p.Max
	case "mean":
		if p.Mean == nil {
			return nil
		}
		rounded := int64(*p.Mean + 0.5)
		return &rounded
	}
	for _, n := range NamedPercentiles() {
		if n.Name == name {
			return n.Of(p)
		}
	}
	return nil
}

// Point is one step of a percentile curve: Count of all samples are at most ValueNs.
type Point struct {
	// Count is how many samples are at most ValueNs.
	Count   uint64
	ValueNs int64
}

// Curve is the cumulative distribution, one point per bucket in use. Its last point has the exact
// maximum.
func (h *Histogram) Curve() []Point {
	points := make([]Point, 0, 256)
	var seen uint64
	for _, bar := range h.counts.Distribution() {
		if bar.Count == 0 {
			continue
		}
		seen += uint64(bar.Count)
		points = append(points, Point{Count: seen, ValueNs: h.clamp(bar.To)})
	}
	return points
}

// Ranked returns the value at a place among the samples in rising order, from 1 to Count, within
// the histogram's resolution. See Rank.
func (h *Histogram) Ranked(rank uint64) int64 {
	// The library has no ranks: it rounds its product of percentage and count to the nearest.
	return h.clamp(h.counts.ValueAtPercentile(100 * float64(rank) / float64(h.Count())))
}

// Percentiles summarises the histogram. Min, mean and max are exact, the others have three
// significant digits.
func (h *Histogram) Percentiles() Percentiles {
	count := h.Count()
	return MakePercentiles(count, h.min, h.max, h.sum/float64(max(count, 1)), func(p Percentile) int64 { return h.Ranked(Rank(p.P, count)) })
}

// Median is the middle of values, the mean of the two middle ones for an even number, and 0 for
// none. It does not change values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
