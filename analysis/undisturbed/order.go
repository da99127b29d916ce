package undisturbed

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
)

// InDueOrder orders packets by when they were due. arrived are those that were received, in that order, of which none
// took longer than slowestNs; lost are the others, in the order in which they were due. It holds as many packets as
// arrive in about twice that time.
func InDueOrder(arrived iter.Seq[Packet], lost []Packet, slowestNs int64) iter.Seq[Packet] {
	return func(yield func(Packet) bool) {
		const atOnce = 1 << 16
		var waiting []Packet
		lost := lost
		// passOn yields the packets that were due before a time, if no more such can arrive.
		passOn := func(ns int64) bool {
			slices.SortStableFunc(waiting, func(x, y Packet) int { return cmp.Compare(x.DueNs, y.DueNs) })
			due := sort.Search(len(waiting), func(i int) bool { return waiting[i].DueNs >= ns })
			for _, p := range waiting[:due] {
				for len(lost) > 0 && lost[0].DueNs < p.DueNs {
					if !yield(lost[0]) {
						return false
					}
					lost = lost[1:]
				}
				if !yield(p) {
					return false
				}
			}
			waiting = append(waiting[:0], waiting[due:]...)
			return true
		}
		full := atOnce
		for p := range arrived {
			if waiting = append(waiting, p); len(waiting) < full {
				continue
			}
			if !passOn(p.ReceivedNs - slowestNs) {
				return
			}
			full = 2*len(waiting) + atOnce
		}
		if !passOn(math.MaxInt64) {
			return
		}
		for _, p := range lost {
			if !yield(p) {
				return
			}
		}
	}
}
