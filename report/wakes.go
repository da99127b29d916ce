package report

import (
	"slices"

	"nines.dev/nines/result"
)

// wakeText says what latencies of ends that sleep contain; empty where none sleeps.
func wakeText(trials []result.Trial) string {
	sleeping := 0
	var known []int64
	for _, t := range trials {
		if !t.Ends.Sleeps() {
			continue
		}
		sleeping++
		// More than half of the packets took is no wake-up, but a mean with late timers of a busy host in it.
		if wake := t.Ends.WakeNs; wake != nil && t.Latency.P50 != nil && *wake < *t.Latency.P50 {
			known = append(known, *wake)
		}
	}
	if sleeping == 0 {
		return ""
	}
	text := "The latencies include"
	if sleeping < len(trials) {
		text = "With wait: block the latencies include"
	}
	text += " the receiver's wake-up"
	if len(known) > 0 {
		slices.Sort(known)
		text += ", about " + microseconds(float64(known[len(known)/2])) + " µs, as late as timers woke sleeping threads of the engines"
	}
	return text + "; wait: spin leaves it out."
}
