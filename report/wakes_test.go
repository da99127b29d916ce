package report

import (
	"testing"

	"nines.dev/nines/result"
)

func TestWakeText(t *testing.T) {
	trial := func(wait string, wake int64) result.Trial {
		ends := &result.Ends{Backend: "udp", IO: "single", Wait: wait}
		if wake > 0 {
			ends.WakeNs = &wake
		}
		p50 := int64(100_000)
		return result.Trial{Ends: ends, Latency: result.Percentiles{P50: &p50}}
	}
	for _, c := range []struct {
		trials []result.Trial
		want   string
	}{
		{[]result.Trial{{}, trial("spin", 0), trial("busy_poll", 9000)}, ""},
		{[]result.Trial{trial("block", 120_000)}, "The latencies include the receiver's wake-up; wait: spin leaves it out."},
		{[]result.Trial{trial("block", 0)}, "The latencies include the receiver's wake-up; wait: spin leaves it out."},
		{[]result.Trial{trial("block", 90_000), trial("block", 48_200), trial("block", 12_000)},
			"The latencies include the receiver's wake-up, about 48.2 µs, as late as timers woke sleeping threads of the engines; wait: spin leaves it out."},
		{[]result.Trial{trial("block", 48_200), trial("spin", 0)},
			"With wait: block the latencies include the receiver's wake-up, about 48.2 µs, as late as timers woke sleeping threads of the engines; wait: spin leaves it out."},
	} {
		if got := wakeText(c.trials); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
