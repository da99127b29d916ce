package clock

import (
	"cmp"
	"math"
	"slices"
)

// Point is a point of the lower edge.
type Point struct {
	AtNs int64 `json:"at_ns"` // by the first clock
	Ns   int64 `json:"ns"`    // least latency around then
}

// Wander is a movement of the lower edge that no straight line and no step explains: a clock that NTP or PTP steers, or
// that warms up, moves so, and a queue that never empties does, too.
type Wander struct {
	// RangeNs is from the lowest point of the edge to the highest, without the drift and the steps.
	RangeNs int64 `json:"range_ns"`
	// BoundNs is how far the edge may be from the clocks at any time: the variation of the slots around it.
	BoundNs int64 `json:"bound_ns"`
}

const (
	// edgeSlots is on how many slots around it a point of the edge is based.
	edgeSlots = 5
	// The edge wanders if its range is more than this many times the deviation of the slots around it, and more than this
	// many units of coarse time stamps. Straight clocks stay below in all but one of some hundred captures.
	wanderTimes = 8
	wanderUnits = 2.5
)

// edge is the lower edge of slots: at each the median of the slots around it, as a queue may have raised some of them,
// along their slope. It follows slots on the same side of a step only.
func edge(runs [][]slot) []Point {
	var points []Point
	for _, run := range runs {
		for i := range run {
			around := min(i, len(run)-1-i, edgeSlots/2) // as many on either side
			points = append(points, Point{run[i].atNs, int64(math.Round(along(run[i-around:i+around+1], run[i].atNs)))})
		}
	}
	return points
}

// along is the median of some slots at a time, each moved there by the median of the slopes between them.
func along(slots []slot, atNs int64) float64 {
	var slopes, values []float64
	for i, a := range slots {
		for _, b := range slots[i+1:] {
			if dt := b.atNs - a.atNs; dt > 0 {
				slopes = append(slopes, float64(b.leastNs-a.leastNs)/float64(dt))
			}
		}
	}
	slope := 0.0
	if len(slopes) > 0 {
		slices.Sort(slopes)
		slope = median(slopes)
	}
	for _, s := range slots {
		values = append(values, float64(s.leastNs)+slope*float64(atNs-s.atNs))
	}
	slices.Sort(values)
	return median(values)
}

// wander is how the edge moves besides a drift and steps; nil if it is no more than the slots vary.
func wander(runs [][]slot, d *Drift) *Wander {
	low, high := math.Inf(1), math.Inf(-1)
	var off []float64
	unit := int64(0)
	for _, run := range runs {
		if len(run) < minSlots {
			continue
		}
		points := edge([][]slot{run})
		var rest []float64
		for i, p := range points {
			straight := 0.0
			if d != nil {
				straight = d.PPM * 1e-6 * float64(p.AtNs-points[0].AtNs)
			}
			rest = append(rest, float64(p.Ns)-straight)
			off = append(off, math.Abs(float64(run[i].leastNs-p.Ns)))
			unit = gcd(unit, run[i].leastNs-run[0].leastNs)
		}
		sorted := slices.Sorted(slices.Values(rest))
		middle := median(sorted)
		// A queue raises some of the slots for a while, and a clock moves all: a tenth at either end does not count.
		trim := max(1, len(sorted)/10)
		low, high = min(low, sorted[trim]-middle), max(high, sorted[len(sorted)-1-trim]-middle)
	}
	if len(off) == 0 {
		return nil
	}
	slices.Sort(off)
	// The deviation by the mean of the middle nine tenths: of coarse time stamps, more than half of the deviations are 0.
	sum := 0.0
	kept := off[:len(off)-len(off)/10]
	for _, v := range kept {
		sum += v
	}
	deviation := 1.5 * sum / float64(len(kept))
	if span := high - low; span > wanderTimes*deviation && span > wanderUnits*float64(unit) && span >= 1 {
		return &Wander{RangeNs: int64(math.Round(span)), BoundNs: int64(math.Ceil(2*deviation + float64(unit)))}
	}
	return nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// Moves reports whether the clocks are seen to move against each other.
func (e Estimate) Moves() bool { return e.Drift.Known() || len(e.Steps) > 0 || e.Wander != nil }

// Moved is how far the second clock has moved ahead since the first packet, at a time by the first clock: between two
// points of the edge on the straight line, before and behind them as the nearest.
func (e Estimate) Moved(atNs int64) int64 {
	if len(e.Edge) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(e.Edge, atNs, func(p Point, ns int64) int { return cmp.Compare(p.AtNs, ns) })
	first := e.Edge[0].Ns
	switch i {
	case 0:
		return 0
	case len(e.Edge):
		return e.Edge[i-1].Ns - first
	}
	a, b := e.Edge[i-1], e.Edge[i]
	for _, s := range e.Steps {
		if a.AtNs < s.AtNs && s.AtNs <= b.AtNs { // not on a line, but at once
			if atNs < s.AtNs {
				return a.Ns - first
			}
			return b.Ns - first
		}
	}
	share := float64(atNs-a.AtNs) / float64(b.AtNs-a.AtNs)
	return a.Ns - first + int64(math.Round(share*float64(b.Ns-a.Ns)))
}
