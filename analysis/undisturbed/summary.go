package undisturbed

import (
	"math"
	"slices"

	"nines.dev/nines/result"
)

// Summary is what a result keeps of a distribution. unseen are the parts of the path whose interruptions are not known,
// and measured is the distribution of all packets that were received.
func (d *Distribution) Summary(unseen []string, measured *result.Histogram) *result.Undisturbed {
	u := &result.Undisturbed{Share: d.Share(), Packets: d.Kept, Refused: d.Refused, Assumed: []string{}, Percentiles: []result.UndisturbedPercentile{}}
	if d.Refused != "" {
		return u
	}
	u.Assumed = append(u.Assumed, d.Assumed...)
	for _, part := range unseen {
		u.Assumed = append(u.Assumed, "no interruption where none is seen: "+part)
	}
	for _, named := range result.NamedPercentiles() {
		got := d.Percentile(named.P)
		one := result.UndisturbedPercentile{Name: named.Name, Open: got.Open}
		if got.Open == "" {
			one.ValueNs, one.LowNs, one.HighNs = rounded(&got.Value), rounded(got.Low), rounded(got.High)
		}
		u.Percentiles = append(u.Percentiles, one)
	}
	u.HoldTo = d.holdTo(measured)
	return u
}

func rounded(ns *float64) *int64 {
	if ns == nil {
		return nil
	}
	whole := int64(math.Round(*ns))
	return &whole
}

// alike is how much measured latencies may be above the undisturbed ones and still hold: as close as these come to the
// truth.
const alike = 1.1

// holdTo is the percentile up to which what was measured holds.
func (d *Distribution) holdTo(measured *result.Histogram) float64 {
	holds := 0.0
	for percentile := 50.0; percentile < 99; percentile++ {
		if !d.holds(percentile, measured) {
			return holds
		}
		holds = percentile
	}
	for _, percentile := range []float64{99, 99.5, 99.9, 99.95, 99.99, 99.999, 99.9999} {
		if !d.holds(percentile, measured) {
			return holds
		}
		holds = percentile
	}
	return holds
}

func (d *Distribution) holds(percentile float64, measured *result.Histogram) bool {
	p := result.Part(percentile)
	if !result.Supports(p, measured.Count()) {
		return false
	}
	got := d.Percentile(p)
	return got.Open == "" && float64(measured.Ranked(result.Rank(p, measured.Count()))) <= alike*got.Value
}

// Histogram is the distribution with each packet counted by how many it stands for, in whole packets: as many as were
// received. It is nil if it is refused.
func (d *Distribution) Histogram() *result.Histogram {
	if d.Refused != "" || d.Kept == 0 {
		return nil
	}
	weights := map[int64]float64{}
	all := 0.0
	for _, block := range d.counts {
		for bucket := range block.Buckets() {
			w := float64(bucket.Count) * d.Weight(float64(bucket.LowNs+bucket.HighNs)/2)
			weights[bucket.LowNs] += w
			all += w
		}
	}
	values := make([]int64, 0, len(weights))
	for ns := range weights {
		values = append(values, ns)
	}
	slices.Sort(values)
	h := result.Sparse{Count: d.Kept + d.Touched, Min: values[0], Max: values[len(values)-1]}
	// Sums are rounded, not counts, so that no tail of small weights is lost.
	var sum float64
	var before int64
	for _, ns := range values {
		sum += weights[ns]
		now := int64(math.Round(sum / all * float64(h.Count)))
		h.Counts = append(h.Counts, [2]int64{result.IndexOf(ns), now - before})
		h.Sum += float64(now-before) * result.ValueOf(result.IndexOf(ns))
		before = now
	}
	imported, err := result.ImportHistogram(h)
	if err != nil {
		panic(err) // each index is one of the layout, and the sums rise to the count
	}
	return imported
}
