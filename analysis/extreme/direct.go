package extreme

import (
	"fmt"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
)

// Direct is a percentile read off the measured packets. Its only assumption is that the packets are
// alike.
type Direct struct {
	// P is the percentile as a fraction: 0.99999.
	P     float64 `json:"p"`
	Value float64 `json:"value"`
	// Low and High are its 95 % interval (confidence.Blocks).
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Open is true if the interval has no upper end: fewer than four clusters of packets are expected beyond.
	Open bool `json:"open"`
	// Clusters is how many these are; 0: not known.
	Clusters float64 `json:"clusters_beyond,omitempty"`
	// NoInterval says why there is none.
	NoInterval string `json:"no_interval,omitempty"`
}

// largestNines is the largest percentile 1 − 10^−j that total values support as a point: 100,000
// support p99.999. 0 for fewer than two.
func largestNines(total uint64) float64 {
	if total < 2 {
		return 0
	}
	if total < 10 {
		return 0.5
	}
	ten := uint64(10)
	for ten <= total/10 {
		ten *= 10
	}
	return 1 - 1/float64(ten)
}

// direct reads percentiles off a sample.
type direct struct {
	falling []float64 // the largest values
	total   uint64
	blocks  confidence.Blocks
	// lacking says why the blocks give no interval.
	lacking string
}

func (s Sample) direct() direct {
	d := direct{falling: s.falling(), total: s.Total, lacking: s.Lacking}
	if d.lacking != "" {
		return d
	}
	d.blocks = confidence.BlocksOf(s.Blocks)
	switch {
	case d.blocks.Total() != s.Total:
		d.lacking = fmt.Sprintf("the time blocks have %d packets, the summary %d", d.blocks.Total(), s.Total)
		d.blocks = confidence.Blocks{}
	case !d.blocks.Tell():
		d.lacking = "the trials are too short: an interval needs 20 time blocks of 1 ms each"
	}
	return d
}

// at reads p; nil if the count does not support it, or if nothing that was kept reaches down to it.
func (d *direct) at(p float64) *Direct {
	if !(p > 0 && p < 1) || !result.Supports(p, d.total) {
		return nil
	}
	rank := result.Rank(p, d.total)
	found := Direct{P: p, NoInterval: d.lacking}
	if d.blocks.Total() > 0 {
		read := d.blocks.Percentile(p, level)
		found.Value, found.Low, found.High, found.Clusters = read.Value, read.Low, read.High, read.Clusters
		found.Open = read.Low != nil && read.High == nil
	}
	switch beyond := d.total - rank; {
	case beyond < uint64(len(d.falling)):
		found.Value = d.falling[beyond] // exact
	case d.blocks.Total() == 0:
		return nil
	}
	return &found
}
