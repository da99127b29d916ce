package explain

import (
	"strings"
	"testing"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/result"
)

// TestAShortInterruptIsNotNamedWithConfidence: neither as the first cause, nor a timer beside which calls of
// other CPUs are too short to come first.
func TestAShortInterruptIsNotNamedWithConfidence(t *testing.T) {
	ranked := func(kind string, present int, eachNs int64) result.RankedCause {
		return result.RankedCause{Cause: result.Cause{Kind: kind, Name: "x", Source: "membarrier", CPU: 1}, Packets: present, Present: present, TotalNs: eachNs * int64(present)}
	}
	timer, long := ranked(attribution.Timer, 800, 7000), ranked(attribution.IPI, 700, 5000)
	for _, c := range []struct {
		what    string
		ranking []result.RankedCause
		says    string
	}{
		{"a timer alone", []result.RankedCause{timer}, ""},
		{"a short timer", []result.RankedCause{ranked(attribution.Timer, 800, 1200)}, "it takes 1.2 µs of a packet, and interrupts of less than 2 µs cannot be told from one another"},
		{"a short call", []result.RankedCause{ranked(attribution.IPI, 800, 1200), timer}, "cannot be told from one another"},
		{"a short hog", []result.RankedCause{ranked(attribution.Hog, 800, 1200)}, ""},
		{"a timer and short calls", []result.RankedCause{timer, ranked(attribution.Softirq, 800, 900), ranked(attribution.IPI, 700, 1500)},
			"700 of the slowest have interrupts `x` of another CPU from `membarrier` as well, of less than 2 µs each"},
		{"a tick and short flushes", []result.RankedCause{ranked(attribution.Tick, 800, 7000), ranked(attribution.TLBShootdown, 400, 1999)}, "400 of the slowest have TLB shootdowns"},
		{"a timer and few short calls", []result.RankedCause{timer, ranked(attribution.IPI, 399, 1500)}, ""},
		{"a timer and long calls", []result.RankedCause{timer, long}, ""},
		{"a hog and short calls", []result.RankedCause{ranked(attribution.Hog, 800, 7000), ranked(attribution.IPI, 800, 1500)}, ""},
	} {
		causes := result.Causes{Slowest: 1000, Ranking: c.ranking}
		Fill(&causes, result.Details{})
		said := causes.Ranking[0].Sentence
		if c.says == "" && (strings.Contains(said, "another may be") || strings.Contains(said, "as well")) || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s, want %q", c.what, said, c.says)
		}
	}
}
