package method

import (
	"testing"
	"time"

	"nines.dev/nines/result"
)

// TestALimitOnLatencyCountsTheErrorOfTheClocks: the latency may be as much larger.
func TestALimitOnLatencyCountsTheErrorOfTheClocks(t *testing.T) {
	h := result.NewHistogram()
	for range 10_000 {
		h.Record(90_000)
	}
	limits := Limits{Latency: 100 * time.Microsecond, Percentile: 99}
	for clockError, holds := range map[time.Duration]bool{0: true, 5 * time.Microsecond: true, 20 * time.Microsecond: false} {
		outcome := Outcome{Intended: 10_000, Received: 10_000, Latency: h, ClockError: clockError}
		if kept := passed(limits.judge(outcome.counted(), nil)); kept == nil || *kept != holds {
			t.Errorf("with an error of %v it holds: %v", clockError, kept)
		}
	}
}
