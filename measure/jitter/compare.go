package jitter

import (
	"fmt"
	"slices"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Outcome is the result of comparing one CPU.
type Outcome string

// The outcomes.
const (
	Helped  Outcome = "helped"
	Worse   Outcome = "worse"
	Unclear Outcome = "no clear difference"
)

// Comparison is a CPU before and after.
type Comparison struct {
	CPU     int     `json:"cpu"`
	Outcome Outcome `json:"outcome"`
	// Wins is the fraction of all pairs of a slice before and one after in which less was taken
	// after; a tie counts half.
	Wins   float64 `json:"wins"`
	Before CPU     `json:"before"`
	After  CPU     `json:"after"`
	// Why explains the outcome.
	Why string `json:"why"`
}

// clear is the fraction of pairs from which a difference counts, and leastSlices the number of
// slices that each side needs. Without any change, 8 slices against 8 would give 0.9 by chance once
// in 200 times (Mann and Whitney 1947, U <= 6 of 64: p = 0.0047).
const (
	clear       = 0.9
	leastSlices = 8
	// leastChange is how much the middle slice must also differ, so that an imperceptible
	// difference does not count.
	leastChange = 0.1
)

// Compare says for each CPU in both checks whether less is taken from it now.
func Compare(before, after Check) []Comparison {
	var list []Comparison
	for _, now := range after.CPUs {
		at := slices.IndexFunc(before.CPUs, func(c CPU) bool { return c.CPU == now.CPU })
		if at >= 0 {
			list = append(list, compare(before.CPUs[at], now))
		}
	}
	return list
}

func compare(before, after CPU) Comparison {
	c := Comparison{CPU: after.CPU, Outcome: Unclear, Before: before, After: after}
	if len(before.Slices) < leastSlices || len(after.Slices) < leastSlices {
		c.Why = fmt.Sprintf("too short to compare: %d slices before and %d now; each needs %d",
			len(before.Slices), len(after.Slices), leastSlices)
		return c
	}
	c.Wins = wins(before.Slices, after.Slices)
	was, is := result.Median(before.Slices), result.Median(after.Slices)
	c.Why = fmt.Sprintf("taken in the middle slice: %s of each second before, %s now; less now in %.0f %% of all pairs of slices",
		terminal.Duration(int64(was)), terminal.Duration(int64(is)), 100*c.Wins)
	switch {
	case c.Wins >= clear && is <= was*(1-leastChange):
		c.Outcome = Helped
	case c.Wins <= 1-clear && is >= was*(1+leastChange):
		c.Outcome = Worse
	}
	if stolen(before) || stolen(after) {
		c.Why += "; most of it was the hypervisor's (steal), which no setting of this machine changes"
	}
	return c
}

// stolen is true if a hypervisor took more than half of the time taken.
func stolen(c CPU) bool { return c.TakenNs > 0 && 2*c.StealNs > c.TakenNs }

func wins(before, after []float64) float64 {
	var won float64
	for _, b := range before {
		for _, a := range after {
			switch {
			case a < b:
				won++
			case a == b:
				won += 0.5
			}
		}
	}
	return won / float64(len(before)*len(after))
}
