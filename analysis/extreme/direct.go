package extreme

import (
	"math"

	"nines.dev/nines/analysis/confidence"
)

// Direct is a percentile read off the sorted values. Its only assumption is that the packets are
// alike.
type Direct struct {
	// P is the percentile as a fraction: 0.99999.
	P     float64 `json:"p"`
	Value float64 `json:"value"`
	// Low and High are its 95 % interval from the ranks of a binomial distribution, with as many
	// independent values as clusters. Low is nil if it is below the sample's floor, High if there
	// are too few values to bound it.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
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

// direct reads p off the largest values; nil if they do not reach down to it, or if the count does
// not support it.
func direct(falling []float64, total uint64, index, p float64) *Direct {
	ranks := confidence.PercentileRanks(total, p, level)
	at := func(rank uint64) *float64 {
		if rank == 0 || rank > total || total-rank >= uint64(len(falling)) {
			return nil
		}
		return &falling[total-rank]
	}
	value := at(ranks.Point)
	if value == nil {
		return nil
	}
	d := &Direct{P: p, Value: *value}
	if index >= independent {
		d.Low, d.High = at(ranks.Low), at(ranks.High)
		return d
	}
	// There are index·total clusters of 1/index values each; ranks that count values from the top
	// count 1/index per cluster.
	few := uint64(math.Max(float64(total)*index, 1))
	if float64(few)*(1-p) < 1 {
		return d // less than one cluster is expected beyond it: its place is chance
	}
	ranks = confidence.PercentileRanks(few, p, level)
	spread := func(rank uint64) uint64 {
		if rank == 0 {
			return 0
		}
		fromTop := math.Round(float64(few-rank) / index)
		if fromTop >= float64(total) {
			return 0
		}
		return total - uint64(fromTop)
	}
	d.Low, d.High = at(spread(ranks.Low)), at(spread(ranks.High))
	return d
}
