package result

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and resolution of every histogram: 1 ns to 60 s at 3 significant digits. The engine's
// counts arrays have the same layout (docs/reference/engine-protocol.md).
const (
	LowestNs          = 1
	HighestNs         = 60_000_000_000
	SignificantDigits = 3
)

// Histogram counts durations in nanoseconds. Buckets have three significant digits; minimum,
// maximum and sum are exact. It is not safe for concurrent use.
type Histogram struct {
	counts   *hdrhistogram.Histogram
	min, max int64
	sum      float64
}

// Histograms are those that a trial records.
type Histograms struct {
	Latency *Histogram // receive − intended send
	FromTx  *Histogram // receive − actual send
	SendLag *Histogram // actual − intended send
	// Undisturbed is the latency without the host's interruptions: packets that were left alone, each counted by how many
	// it stands for. It is nil where that is not known.
	Undisturbed *Histogram
}

// Sparse is a histogram as the engine reports it: pairs of an index into HdrHistogram's counts
// array and its count, with exact extremes and sum.
type Sparse struct {
	Count  uint64     `json:"count"`
	Min    int64      `json:"min"`
	Max    int64      `json:"max"`
	Sum    float64    `json:"sum"`
	Counts [][2]int64 `json:"counts"`
}

// NewHistogram returns an empty histogram.
func NewHistogram() *Histogram {
	return &Histogram{counts: hdrhistogram.New(LowestNs, HighestNs, SignificantDigits)}
}

// ImportHistogram imports a histogram of the engine. It refuses one whose counts do not add up to
// its count, or lie outside the array, because a histogram that lost samples must not count as
// complete.
func ImportHistogram(from Sparse) (*Histogram, error) {
	h := NewHistogram()
	snapshot := h.counts.Export()
	var total uint64
	for _, pair := range from.Counts {
		index, count := pair[0], pair[1]
		if index < 0 || index >= int64(len(snapshot.Counts)) {
			return nil, fmt.Errorf("histogram index %d is outside 0 to %d", index, len(snapshot.Counts)-1)
		}
		if count < 0 {
			return nil, fmt.Errorf("histogram index %d has a negative count, %d", index, count)
		}
		snapshot.Counts[index] += count
		total += uint64(count)
	}
	if total != from.Count {
		return nil, fmt.Errorf("histogram holds %d samples, but says %d", total, from.Count)
	}
	if total > 0 && (from.Min > from.Max || from.Min < 0 || math.IsNaN(from.Sum)) {
		return nil, fmt.Errorf("histogram has minimum %d ns, maximum %d ns and sum %g ns", from.Min, from.Max, from.Sum)
	}
	h.counts = hdrhistogram.Import(snapshot)
	if total > 0 {
		h.min, h.max, h.sum = from.Min, from.Max, from.Sum
	}
	return h, nil
}

// Record counts one duration. A value beyond the range counts at its end, and exactly in minimum,
// maximum and sum.
func (h *Histogram) Record(ns int64) {
	if h.counts.TotalCount() == 0 || ns < h.min {
		h.min = ns
	}
	if h.counts.TotalCount() == 0 || ns > h.max {
		h.max = ns
	}
	h.sum += float64(ns)
	// Cannot fail, since the value is clamped to the range.
	_ = h.counts.RecordValue(min(max(ns, 0), HighestNs))
}

// Merge adds the samples of other.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil || other.Count() == 0 {
		return
	}
	if h.Count() == 0 {
		h.min, h.max = other.min, other.max
	} else {
		h.min, h.max = min(h.min, other.min), max(h.max, other.max)
	}
	h.sum += other.sum
	h.counts.Merge(other.counts) // same range, so nothing is dropped
}

// Count is the number of samples.
func (h *Histogram) Count() uint64 { return uint64(h.counts.TotalCount()) }

// clamp keeps a bucket's bound within the observed range.
func (h *Histogram) clamp(ns int64) int64 { return min(max(ns, h.min), h.max) }
