package explain

import (
	"fmt"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// shortNs is how long an interrupt takes that may be told from another. Any costs about as much by itself, in
// a virtual machine by an exit to the host: in docs/explain.md, calls of membarrier of 1 to 2 µs were found in
// each trial, and named first in none.
const shortNs = 2000

// short qualifies the first cause where interrupts are in play that are too short for the ranking to tell
// them apart: itself, or calls of other CPUs beside a timer.
func short(ranking []result.RankedCause) string {
	first := ranking[0]
	if !attribution.IsInterrupt(first.Cause.Kind) || first.Present == 0 {
		return ""
	}
	if each := first.TotalNs / int64(first.Present); each < shortNs {
		return fmt.Sprintf("; it takes %s of a packet, and interrupts of less than %s cannot be told from one another, so that another may be the reason",
			terminal.Duration(each), terminal.Duration(shortNs))
	}
	if first.Cause.Kind != attribution.Timer && first.Cause.Kind != attribution.Tick {
		return ""
	}
	for _, other := range ranking[1:] {
		called := other.Cause.Kind == attribution.IPI || other.Cause.Kind == attribution.TLBShootdown
		if called && other.Present*2 >= first.Present && other.TotalNs < shortNs*int64(other.Present) {
			return fmt.Sprintf("; %d of the slowest have %s as well, of less than %s each: beside a timer so short a call never comes first, though it may be the reason",
				other.Present, What(other.Cause), terminal.Duration(shortNs))
		}
	}
	return ""
}
