package result

import (
	"slices"
	"testing"
)

// Trials are compared, by medians, with those that differ only in tracing; one that did not offer
// its load does not count.
func TestTracedAgainstNot(t *testing.T) {
	trial := func(traced any, wait string, p50, p99 int64, received uint64) Trial {
		v := Trial{Variables: map[string]any{"wait": wait}, OfferedPPS: 1000, TxPackets: 100, RxPackets: received, Verdict: Clean,
			Latency: Percentiles{P50: &p50, P99: &p99, Count: 100}}
		if traced != nil {
			v.Variables["trace"] = traced
		}
		return v
	}
	broken := trial(true, "spin", 1, 1, 100)
	broken.Verdict = Invalid
	short := trial(true, "block", 70, 0, 100)
	short.Latency.P99 = nil
	trials := []Trial{
		trial(false, "spin", 10, 100, 100), trial(true, "spin", 11, 150, 100), trial(false, "block", 50, 90, 100), short,
		trial(false, "spin", 30, 300, 100), trial(true, "spin", 33, 250, 98), broken, trial(true, "alone", 1, 1, 1), trial(nil, "spin", 9, 9, 9),
	}
	got := TracedAgainstNot(trials)
	if len(got) != 2 || got[0].On != 2 || got[0].Off != 2 || got[1].On != 1 || got[1].Off != 1 || got[0].Variables["wait"] != "spin" || len(got[0].Variables) != 1 {
		t.Fatalf("%+v", got)
	}
	want := []TracedFigure{{"latency_p50_ns", 22, 20, 1.1}, {"latency_p99_ns", 200, 200, 1}, {"received_pps", 990, 1000, 0.99}}
	if !slices.Equal(got[0].Figures, want) {
		t.Errorf("%+v, want %+v", got[0].Figures, want)
	}
	if len(got[1].Figures) != 2 || got[1].Figures[1].Name != "received_pps" {
		t.Errorf("a trial has no p99, and yet: %+v", got[1].Figures)
	}
	if !got[0].Of(trials[0]) || !got[0].Of(trials[1]) || got[0].Of(trials[2]) || got[0].Of(trials[8]) {
		t.Error("it does not know its trials")
	}
}
