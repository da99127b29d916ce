package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

func compared() *result.Duet {
	value := func(v float64) *float64 { return &v }
	return &result.Duet{
		Sides: []result.DuetSide{{Name: "a", Label: "veth", Settings: "links.*.kind=veth"}, {Name: "b", Label: "bridge", Settings: "links.*.kind=bridge"}},
		Least: result.DuetLeast{Share: 0.01, LatencyNs: 20}, Beside: []string{"Both ran side by side"},
		Comparisons: []result.DuetComparison{
			{Quantity: "p50", Asked: true, A: value(2000), B: value(2800), Difference: &result.Bounded{Value: 800, Low: 700, High: 900}, Ratio: &result.Bounded{Value: 1.4, Low: 1.3, High: 1.5}, Decision: result.ALower},
			{Quantity: "undisturbed p99", Asked: true, Difference: &result.Bounded{Value: -500, Low: -600, High: -400}, Decision: result.BLower},
			{Quantity: "p90", Decision: result.Same, Difference: &result.Bounded{Value: 1, Low: -9, High: 11}},
			{Quantity: "p99", Asked: true, Decision: result.Undecided, Difference: &result.Bounded{Value: 100, Low: -2000, High: 2100}, Why: "the interval is too wide", NeedsNs: int64(431 * time.Second)},
			{Quantity: "p99.9", Decision: result.Undecided},
			{Quantity: "loss", Decision: result.Same, Difference: &result.Bounded{}},
			{Quantity: "loss", Asked: true, Decision: result.BLower, Difference: &result.Bounded{Value: -0.01, Low: -0.012, High: -0.008}},
		},
	}
}

func TestDuetSentences(t *testing.T) {
	want := []string{
		"veth is 0.80 µs (0.70 to 0.90) faster than bridge at p50: decided.",
		"bridge is 0.50 µs (0.40 to 0.60) faster than veth at undisturbed p99: decided.",
		"veth and bridge are the same at p90 within 1 % or 20ns: decided.",
		"veth and bridge at p99: not decided, the difference (b − a) is from -2.00 to 2.10 µs, because the interval is too wide; it would take about 7m10s of traffic.",
		"veth and bridge lose the same share of packets: decided.",
		"bridge loses 1.00 % (0.80 to 1.20) of the packets less than veth: decided.",
	}
	if got := DuetSentences(compared()); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if got := DuetSentences(&result.Duet{Open: "too short"}); len(got) != 1 || got[0] != "not decided: too short." {
		t.Errorf("%q", got)
	}
}

// TestTheTableOfADuet: the sentences come first, and then a line for each side.
func TestTheTableOfADuet(t *testing.T) {
	p50 := int64(2000)
	summary := result.Summary{Name: "lab", Trials: []result.Trial{{
		ID: "0001", Duet: compared(), Verdict: result.Clean,
		Streams: []result.Stream{{Name: "a", TxPackets: 10, RxPackets: 9, LostPackets: 1, Latency: result.Percentiles{P50: &p50}}, {Name: "b", TxPackets: 10, RxPackets: 10}},
	}}}
	var out bytes.Buffer
	if err := WriteTable(&out, summary, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"faster than bridge at p50: decided.\n", "a     links.*.kind=veth", "b     links.*.kind=bridge", "Both ran side by side.", "bridge is lower"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestThePageHasTheBandsOfADuet: the intervals of whole percentiles, by where the page draws them.
func TestThePageHasTheBandsOfADuet(t *testing.T) {
	got := bandsOf(compared())
	want := []pageBand{{2, 800, 700, 900}, {10, 1, -9, 11}, {100, 100, -2000, 2100}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
