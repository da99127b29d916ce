package clock

import (
	"cmp"
	"math"
	"slices"
)

// Lost is the latency of a packet that did not arrive; Of skips it.
const Lost = math.MinInt64

// Estimate is what is known about two clocks. The second is the one at the receiving end.
type Estimate struct {
	// Packets is the number of packets with a latency, SpanNs the time from the first to the last.
	Packets uint64 `json:"packets"`
	SpanNs  int64  `json:"span_ns"`
	// LeastNs is the minimum latency, and the most that the second clock can be ahead. If it is
	// negative, the second clock is behind by at least as much.
	LeastNs int64 `json:"least_ns"`
	// Negative is the number of packets that arrived before they were sent, by the clocks.
	Negative uint64 `json:"negative_packets"`
	// Drift is how much faster the second clock is; nil if there are too few packets or too little
	// time to tell.
	Drift *Drift `json:"drift,omitempty"`
	// Steps are the moments at which the minimum latency changes.
	Steps []Step `json:"steps,omitempty"`
	// Wander is how the edge moves besides; nil if it does not, as far as can be seen.
	Wander *Wander `json:"wander,omitempty"`
	// Edge is the lower edge of the latencies over time; empty if there are too few packets to tell.
	Edge []Point `json:"-"`
	// FirstNs is when the first packet was sent.
	FirstNs int64 `json:"first_ns"`
}

// Drift is the slope of the lower edge of the latencies.
type Drift struct {
	// PPM is in parts per million, positive if the second clock is faster; it is between LowPPM and
	// HighPPM with 95 % confidence.
	PPM     float64 `json:"ppm"`
	LowPPM  float64 `json:"low_ppm"`
	HighPPM float64 `json:"high_ppm"`
	// OverNs is the drift summed over the whole time: the error of latencies at the end if they
	// were right at the beginning.
	OverNs int64 `json:"over_ns"`
}

// Known reports whether there is a measurable drift.
func (d *Drift) Known() bool { return d != nil && (d.LowPPM > 0 || d.HighPPM < 0) }

// Step is a lasting change of the minimum latency.
type Step struct {
	// AtNs is roughly when, by the first clock: within some hundredths of the whole time.
	AtNs int64 `json:"at_ns"`
	ByNs int64 `json:"by_ns"`
}

const (
	// The whole time is divided into equal slots, and only the minimum latency of each counts: at
	// most maxSlots, with at least this many packets in each on average.
	maxSlots       = 256
	packetsPerSlot = 30
	// minSlots is the fewest slots for a slope: with fewer, its interval says nothing.
	minSlots = 8
)

// slot is the packet with the minimum latency in its time.
type slot struct {
	atNs, leastNs int64
	packets       int
}

// Of estimates from the send times by the first clock and the latencies by both clocks, in any
// order. It ignores latencies that are Lost.
func Of(sentNs, latencyNs []int64) Estimate {
	e := Estimate{LeastNs: math.MaxInt64}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i, l := range latencyNs {
		if l == Lost {
			continue
		}
		e.Packets++
		if l < 0 {
			e.Negative++
		}
		e.LeastNs = min(e.LeastNs, l)
		first, last = min(first, sentNs[i]), max(last, sentNs[i])
	}
	if e.Packets == 0 {
		return Estimate{}
	}
	e.FirstNs, e.SpanNs = first, last-first
	slots := slotsOf(sentNs, latencyNs, first, e)
	if len(slots) < minSlots {
		return e
	}
	e.Steps = steps(slots)
	runs := between(slots, e.Steps)
	e.Edge = edge(runs)
	if e.Drift = drift(runs); e.Drift != nil {
		e.Drift.OverNs = int64(math.Round(e.Drift.PPM * 1e-6 * float64(e.SpanNs)))
	}
	e.Wander = wander(runs, e.Drift)
	return e
}

// slotsOf finds the minimum latency in each time slot. It leaves out slots with few packets, whose
// least latency is not that of the network.
func slotsOf(sentNs, latencyNs []int64, first int64, e Estimate) []slot {
	count := min(maxSlots, e.Packets/packetsPerSlot)
	if count < minSlots || e.SpanNs <= 0 {
		return nil
	}
	slots := make([]slot, count)
	perNs := float64(count) / (float64(e.SpanNs) + 1)
	for i, l := range latencyNs {
		if l == Lost {
			continue
		}
		s := &slots[min(int(float64(sentNs[i]-first)*perNs), int(count)-1)]
		if s.packets == 0 || l < s.leastNs || l == s.leastNs && sentNs[i] < s.atNs {
			s.atNs, s.leastNs = sentNs[i], l
		}
		s.packets++
	}
	enough := max(1, int(e.Packets/count/4))
	return slices.DeleteFunc(slots, func(s slot) bool { return s.packets < enough })
}

// drift is the slope by Theil and Sen: the median of the slopes between any two slots with no step
// between them, which a quarter of bad slots does not move. Its interval is Sen's, from the
// distribution of Kendall's tau (P. K. Sen, Estimates of the Regression Coefficient Based on
// Kendall's Tau, JASA 63, 1968). That assumes independent slots, which a busy host does not give;
// so the lowest of them must show the drift as well.
func drift(runs [][]slot) *Drift {
	var slopes []float64
	variance := 0.0
	for _, run := range runs {
		k := float64(len(run))
		variance += k * (k - 1) * (2*k + 5) / 18
		for i, a := range run {
			for _, b := range run[i+1:] {
				if dt := b.atNs - a.atNs; dt > 0 {
					slopes = append(slopes, float64(b.leastNs-a.leastNs)/float64(dt)*1e6)
				}
			}
		}
	}
	if len(slopes) < minSlots*(minSlots-1)/2 {
		return nil
	}
	slices.Sort(slopes)
	n := float64(len(slopes))
	const z = 1.96 // 95 %
	width := z * math.Sqrt(variance)
	at := func(rank float64) float64 { return slopes[int(min(n-1, max(0, rank)))] }
	d := &Drift{PPM: median(slopes), LowPPM: at(math.Floor((n - width) / 2)), HighPPM: at(math.Ceil((n + width) / 2))}
	if floor := floorSlope(runs) * 1e6; math.Abs(floor) < math.Abs(d.PPM)/2 || floor*d.PPM < 0 {
		// The slots rose or fell, but the lowest of them did not: the load changed.
		d.LowPPM, d.HighPPM = min(d.LowPPM, floor, 0), max(d.HighPPM, floor, 0)
	}
	return d
}

// floorSlope is the change of the overall least latency from the first third of the longest run to
// the last.
func floorSlope(runs [][]slot) float64 {
	longest := slices.MaxFunc(runs, func(a, b []slot) int { return len(a) - len(b) })
	third := len(longest) / 3
	if third == 0 {
		return 0
	}
	least := func(a, b slot) int { return cmp.Compare(a.leastNs, b.leastNs) }
	first, last := slices.MinFunc(longest[:third], least), slices.MinFunc(longest[len(longest)-third:], least)
	return float64(last.leastNs-first.leastNs) / float64(max(1, last.atNs-first.atNs))
}

// median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
