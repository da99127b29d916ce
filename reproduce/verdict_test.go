package reproduce

import (
	"fmt"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// turns is a result whose trials of two competitions took turns: with p99 in nanoseconds, and their verdicts.
func turns(verdict result.Verdict, off, on int64) *result.Result {
	r := &result.Result{Dir: "results/made", Summary: result.Summary{Name: "made", Started: time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)}}
	for repeat := 1; repeat <= 6; repeat++ {
		for competition, p99 := range map[string]int64{"off": off, "on": on} {
			p99 += int64(repeat)
			r.Summary.Trials = append(r.Summary.Trials, result.Trial{ID: fmt.Sprintf("%04d", len(r.Summary.Trials)+1), Repeat: repeat, TxPackets: 1000, RxPackets: 1000,
				Variables: map[string]any{"competition": competition}, Latency: result.Percentiles{P99: &p99, Count: 1000}, Verdict: verdict})
		}
	}
	return r
}

// TestNoisyTrialsShowADisturbance: they can show that it is there, and never that it is not.
func TestNoisyTrialsShowADisturbance(t *testing.T) {
	for _, c := range []struct {
		about   bool
		verdict result.Verdict
		on      int64
		want    Verdict
	}{
		{true, result.Noisy, 300_000, Held},
		{true, result.Noisy, 100_000, NotDecidable},
		{false, result.Noisy, 300_000, NotDecidable},
		{true, result.Clean, 300_000, Held},
		{true, result.Clean, 100_000, Different},
		{true, result.Invalid, 300_000, NotDecidable},
	} {
		claim := &Claim{ID: "c", AboutDisturbance: c.about, Holds: []string{"p99(competition=on) >= 2 * p99(competition=off)"}}
		j, err := Judge(Claimed{&Paper{ID: "p"}, claim}, turns(c.verdict, 100_000, c.on), nil)
		if err != nil || j.Verdict != c.want {
			t.Errorf("%+v: %s, %q, %v", c, j.Verdict, j.Because, err)
		}
	}
}
