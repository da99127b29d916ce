package clock

import (
	"cmp"
	"math"
	"slices"
)

const (
	// stepSlots is the number of slots on either side that show the minimum latency there; at the
	// ends of the captures, half as many.
	stepSlots = 10
	// A step is between neighbours: this many slots on either side show this much of it.
	nearSlots = 3
	atOnce    = 0.6
	// A step is at least this many times the variation of the minimum latency, and this many
	// nanoseconds: caches and CPU speeds change it by less; clocks are set by more (PTP's daemons
	// slew up to 20 µs, NTP's up to 128 ms).
	stepTimes  = 8
	stepLeast  = 1000
	toDeviates = 1.4826 // of a median absolute deviation (normal distribution)
)

// steps finds moments at which the minimum latency changes permanently.
func steps(slots []slot) (found []Step) {
	if len(slots) < 2*stepSlots {
		return nil
	}
	flat := flatten(slots)
	around := max(stepSlots, len(flat)/8)
	for _, i := range jumps(flat) {
		// A change of load raises most slots, but not the lowest: a step moves all.
		by := across(flat, i)
		floor := slices.Min(flat[i:min(len(flat), i+around)]) - slices.Min(flat[max(0, i-around):i-1])
		// A clock that wanders changes as much, but not at once.
		near := level(flat[i:min(len(flat), i+nearSlots)]) - level(flat[max(0, i-nearSlots):i])
		if floor*by > 0 && math.Abs(floor) > math.Abs(by)/2 && near*by > 0 && math.Abs(near) > atOnce*math.Abs(by) {
			found = append(found, Step{AtNs: slots[i].atNs, ByNs: int64(math.Round(by))})
		}
	}
	return found
}

// across is the difference between the two sides of a slot's beginning.
func across(flat []float64, i int) float64 {
	return level(flat[i:min(len(flat), i+stepSlots)]) - level(flat[max(0, i-stepSlots):i])
}

// jumps returns the slots at which the level changes.
func jumps(flat []float64) (found []int) {
	limit := math.Max(stepTimes*variation(flat), stepLeast)
	by := func(i int) float64 { return across(flat, i) }
	const margin = stepSlots / 2
	for i := margin; i <= len(flat)-margin; i++ {
		if math.Abs(by(i)) <= limit {
			continue
		}
		// The sides differ more and then less around a step, so it is where they differ most: in
		// the middle of that range, or at the slot that jumps.
		end := i
		for end <= len(flat)-margin && math.Abs(by(end)) > limit {
			end++
		}
		best := i
		for j := i; j < end; j++ {
			if math.Abs(flat[j]-flat[j-1]) > math.Abs(flat[best]-flat[best-1]) && math.Abs(by(j)) >= math.Abs(by(best))/2 {
				best = j
			}
		}
		found = append(found, best)
		i = end
	}
	return found
}

// flatten removes an even change: the median of the slopes between slots that are an eighth of the
// whole apart, which a few steps do not move.
func flatten(slots []slot) []float64 {
	apart := max(1, len(slots)/8)
	slopes := make([]float64, 0, len(slots))
	for i := apart; i < len(slots); i++ {
		slopes = append(slopes, float64(slots[i].leastNs-slots[i-apart].leastNs)/float64(max(1, slots[i].atNs-slots[i-apart].atNs)))
	}
	slices.Sort(slopes)
	slope := median(slopes)
	flat := make([]float64, len(slots))
	for i, s := range slots {
		flat[i] = float64(s.leastNs) - slope*float64(s.atNs-slots[0].atNs)
	}
	return flat
}

// variation is how much slots differ from their neighbours. It includes coarse time stamps: a drift
// through them rises and falls by their resolution.
func variation(flat []float64) float64 {
	deviations := make([]float64, len(flat))
	around := max(stepSlots, len(flat)/8)
	for i, v := range flat {
		window := slices.Clone(flat[max(0, i-around):min(len(flat), i+around)])
		slices.Sort(window)
		deviations[i] = math.Abs(v - median(window))
	}
	slices.Sort(deviations)
	return toDeviates * median(deviations)
}

// level is the minimum latency of some slots: their lower quartile, because queues can only raise it.
func level(flat []float64) float64 {
	sorted := slices.Clone(flat)
	slices.Sort(sorted)
	return sorted[(len(sorted)-1)/4]
}

// between returns the slots between steps. It leaves out the slots next to a step: they may hold
// packets from before and after.
func between(slots []slot, steps []Step) [][]slot {
	var runs [][]slot
	for _, s := range steps {
		at, _ := slices.BinarySearchFunc(slots, s.AtNs, func(a slot, ns int64) int { return cmp.Compare(a.atNs, ns) })
		runs = append(runs, slots[:max(0, at-1)])
		slots = slots[min(len(slots), at+1):]
	}
	return append(runs, slots)
}
