package undisturbed

import (
	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
)

// Distribution is that of the latencies of a trial, if nothing had interrupted its CPUs.
type Distribution struct {
	Sifted
	counts []*result.Packed // of packets that were not touched, by blocks of time
	blocks confidence.Blocks
}

// Percentile of a distribution.
type Percentile struct {
	confidence.Percentile
	// Open says why the percentile is not known; "" if it is.
	Open string
}

// timeBlocks is over how many blocks of time packets are counted: as many as the intervals need.
const timeBlocks = 100

// Of takes the packets of a trial apart.
func Of(t Trial) Distribution {
	sieve := NewSieve()
	sieve.Add(t.CPUs)
	counts := newCounts(timeBlocks, t.LengthNs)
	for p := range t.Packets {
		if !sieve.Touched(p) && p.ReceivedNs >= 0 {
			counts.add(p.DueNs, p.ReceivedNs-p.DueNs)
		}
	}
	d := Distribution{Sifted: sieve.Sifted(t.LengthNs), counts: counts.packed()}
	if d.Refused == "" {
		d.blocks = confidence.Weighted(d.counts, d.Kept+d.Touched, d.Weight)
	}
	return d
}

// Percentile returns p, 0 < p < 1, with its 95 % interval. The distribution is not refused.
func (d *Distribution) Percentile(p float64) Percentile {
	if !result.Supports(p, d.Kept) {
		return Percentile{Open: tooFew(p, d.Kept)}
	}
	found := d.blocks.Percentile(p, confidence.Level)
	if open := d.Open(p, found.Value); open != "" {
		return Percentile{Open: open}
	}
	return Percentile{Percentile: found}
}
