package undisturbed

import (
	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/result"
)

// Distribution is that of the latencies of a trial, if nothing had interrupted its CPUs.
type Distribution struct {
	// Kept were received and not touched, Touched received and touched.
	Kept, Touched uint64
	// KeptLost were lost without having been due in an interruption.
	KeptLost, TouchedLost uint64
	// Refused says why there is no distribution; "" if there is one.
	Refused string
	// Assumed tells that there were too few interruptions to test whether the traffic caused them: it is assumed that it
	// did not.
	Assumed bool

	blocks   confidence.Blocks
	exposure Exposure
	cpus     []CPU
	lengthNs int64
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
	d := Distribution{cpus: t.CPUs, lengthNs: t.LengthNs}
	sieve := NewSieve(t.CPUs)
	test := newIndependence(sieve, len(sieve.coming), t.LengthNs)
	counts := newCounts(timeBlocks, t.LengthNs)
	for p := range t.Packets {
		test.before(p)
		touched := sieve.Touched(p)
		switch {
		case p.ReceivedNs < 0 && touched:
			d.TouchedLost++
		case p.ReceivedNs < 0:
			d.KeptLost++
		case touched:
			d.Touched++
		default:
			d.Kept++
			counts.add(p.DueNs, p.ReceivedNs-p.DueNs)
		}
	}
	d.exposure = sieve.Exposure(t.LengthNs)
	if d.Refused = d.refuse(test); d.Refused == "" {
		d.blocks = confidence.Weighted(counts.packed(), d.Kept+d.Touched, d.weight)
	}
	return d
}

// weight of a packet that was not touched: it stands for all that would have had its latency (Horvitz and Thompson
// 1952).
func (d *Distribution) weight(latencyNs float64) float64 {
	return 1 / max(d.exposure.Escapes(latencyNs), d.exposure.Escapes(0)/mostWeight)
}

// mostWeight bounds the weight of a slow packet over that of a fast one, so that no single packet decides (Cole and
// Hernán 2008, "Constructing inverse probability weights"). Percentiles at which it counts stay open.
const mostWeight = 10

// Share is the share of the packets that interruptions left alone.
func (d *Distribution) Share() float64 {
	kept := d.Kept + d.KeptLost
	return float64(kept) / float64(max(kept+d.Touched+d.TouchedLost, 1))
}

// Percentile returns p, 0 < p < 1, with its 95 % interval. The distribution is not refused.
func (d *Distribution) Percentile(p float64) Percentile {
	if open := d.tooCoarse(p); open != "" {
		return Percentile{Open: open}
	}
	if !result.Supports(p, d.Kept) {
		return Percentile{Open: tooFew(p, d.Kept)}
	}
	found := d.blocks.Percentile(p, confidence.Level)
	if open := d.tooDense(found.Value); open != "" {
		return Percentile{Open: open}
	}
	return Percentile{Percentile: found}
}
