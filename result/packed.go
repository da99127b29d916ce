package result

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Packed is a histogram that takes memory only for the buckets in use: a trial has one for each of its time blocks,
// and a Histogram takes 216 KiB.
type Packed struct {
	counts *hdrhistogram.PackedHistogram
}

// Bucket is how many samples are from LowNs to HighNs.
type Bucket struct {
	LowNs, HighNs int64
	Count         uint64
}

// PackCounts makes a histogram of pairs in one list: index, count, index, count, …, as the engine reports blocks.
func PackCounts(pairs []int64) (*Packed, error) {
	p := newPacked()
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("histogram has %d numbers, which are no pairs", len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		index, count := pairs[i], pairs[i+1]
		if index < 0 || index >= countsLength || count < 0 {
			return nil, fmt.Errorf("histogram index %d has the count %d; indexes are 0 to %d", index, count, countsLength-1)
		}
		if err := p.counts.RecordValues(lowestAt(index), count); err != nil {
			return nil, fmt.Errorf("histogram index %d: %w", index, err)
		}
	}
	return p, nil
}

// newPacked is an empty one, with the range and digits of every histogram.
func newPacked() *Packed {
	return &Packed{hdrhistogram.NewPacked(LowestNs, HighestNs, SignificantDigits)}
}

// The layout of HdrHistogram's counts array for three significant digits: 2^11 values that are told apart, then
// halves of twice the step each (http://hdrhistogram.github.io/HdrHistogram/, AbstractHistogram.countsArrayIndex).
const (
	halfMagnitude = 10
	countsLength  = 27 << halfMagnitude
)

// lowestAt is the lowest value that has an index.
func lowestAt(index int64) int64 {
	step := max(index>>halfMagnitude-1, 0)
	return (index - step<<halfMagnitude) << step
}

// IndexOf is the index of a value, from 0 to HighestNs, in the counts array.
func IndexOf(ns int64) int64 {
	step := bits.Len64(uint64(ns)|(2<<halfMagnitude-1)) - (halfMagnitude + 1)
	return int64(step)<<halfMagnitude + ns>>step
}

// ValueOf is the middle of the values that have an index.
func ValueOf(index int64) float64 {
	low := lowestAt(index)
	return float64(low+highestLike(low)) / 2
}

// Packed returns the samples of a histogram.
func (h *Histogram) Packed() *Packed {
	p := newPacked()
	p.counts.MergeFrom(h.counts) // the same range, so nothing is dropped
	return p
}

// Count is the number of samples.
func (p *Packed) Count() uint64 { return uint64(p.counts.TotalCount()) }

// Buckets lists those in use, in rising order.
func (p *Packed) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		for low, count := range p.counts.ForEachBucket {
			if !yield(Bucket{LowNs: low, HighNs: highestLike(low), Count: uint64(count)}) {
				return
			}
		}
	}
}

// highestLike is the highest value in the bucket that begins with low.
func highestLike(low int64) int64 {
	high := low
	for step := int64(1); low >= 2<<halfMagnitude*step; step <<= 1 {
		high = low + 2*step - 1
	}
	return high
}

// Merge adds the samples of other; it fails if they are too many to count.
func (p *Packed) Merge(other *Packed) error {
	if dropped := p.counts.Merge(other.counts); dropped > 0 { // the same range
		return errTooMany
	}
	return nil
}

var errTooMany = errors.New("histograms have too many samples to add up")

// add adds the samples of a log's line, whose extremes and sum are as exact as its buckets.
func (h *Histogram) add(p *Packed) error {
	if p.Count() == 0 {
		return nil
	}
	least, most := p.counts.Min(), p.counts.Max()
	if h.Count() > 0 {
		least, most = min(least, h.min), max(most, h.max)
	}
	if dropped := p.counts.MergeInto(h.counts); dropped > 0 { // the same range
		return errTooMany
	}
	h.min, h.max, h.sum = least, most, h.sum+p.counts.Mean()*float64(p.counts.TotalCount())
	return nil
}
