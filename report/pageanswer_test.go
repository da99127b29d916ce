package report

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// answered is the answer of a simulation.
func answered(t *testing.T, s simulation) []string {
	t.Helper()
	r, err := result.Open(s.write(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	return pageAnswer(r)
}

func TestTheAnswerComparesWhatTheSweepCompares(t *testing.T) {
	lines := answered(t, simulation{name: "x", kinds: []string{"bridge", "veth"}, rates: []float64{1000, 100_000}, repeats: 6, seconds: 1, seed: 1})
	text := strings.Join(lines, "\n")
	for _, want := range []string{"rate_pps=1000: veth (7.", " is fastest at p50, then bridge (1.", "): decided.", "rate_pps=100000: veth (1", "most at kind bridge, 100,000 pps",
		"4 of 24 trials are noisy"} {
		if !strings.Contains(text, want) {
			t.Errorf("the answer lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "not decided") || !strings.HasPrefix(lines[0], "rate_pps=1000: veth") {
		t.Errorf("the answer is\n%s", text)
	}
}

func TestTheAnswerDecidesNothingFromTwoRepeats(t *testing.T) {
	text := strings.Join(answered(t, simulation{name: "x", kinds: []string{"bridge", "veth"}, rates: []float64{1000, 2000}, repeats: 2, seconds: 1, seed: 1}), "\n")
	if !strings.Contains(text, " µs with veth.") || !strings.Contains(text, "not decided") || !strings.Contains(text, "a decision needs 6 a side: set 'repeat' to 6") || strings.Contains(text, "fastest") || strings.Count(text, "not decided") > 1 {
		t.Errorf("the answer is\n%s", text)
	}
}

func TestTheAnswerOfOneCombination(t *testing.T) {
	lines := answered(t, simulation{name: "x", kinds: []string{"veth"}, rates: []float64{1000}, repeats: 3, seconds: 1, seed: 1})
	if !strings.HasPrefix(lines[0], "Latency: p50 7.") || !strings.Contains(lines[0], "medians of 3 repeats.") || !slices.Contains(lines, "No packet was lost.") {
		t.Errorf("the answer is %q", lines)
	}
}

func TestTheAnswerOfManyCombinationsIsShort(t *testing.T) {
	var rates []float64
	for i := range 20 {
		rates = append(rates, float64(1000+100*i))
	}
	lines := answered(t, simulation{name: "x", kinds: []string{"bridge", "veth", "xdp"}, rates: rates, repeats: 1, seconds: 1, seed: 1})
	if len(lines) > 8 || !slices.Contains(lines, "See the table of trials for 18 more combinations.") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

func TestTheAnswerOfADuetIsItsDecision(t *testing.T) {
	r := &result.Result{Summary: result.Summary{Trials: []result.Trial{{ID: "0001", Duet: compared(), Streams: make([]result.Stream, 2), Verdict: result.Clean}}}}
	if lines := pageAnswer(r); !slices.Equal(lines, DuetSentences(compared())) {
		t.Errorf("the answer is %q", lines)
	}
}

func TestTheOutermostVariableChangesLeast(t *testing.T) {
	var groups []Group
	for _, rate := range []float64{1, 2, 3} {
		for _, kind := range []string{"bridge", "veth"} {
			groups = append(groups, Group{Variables: map[string]any{"links.*.kind": kind, "traffic.rate_pps": rate, "same": "x"}})
		}
	}
	if keys := sweptKeys(groups); !slices.Equal(keys, []string{"traffic.rate_pps", "links.*.kind"}) {
		t.Errorf("%q", keys)
	}
	if by := comparedBy(groups); by != "links.*.kind" {
		t.Errorf("compared by %q", by)
	}
	if by := comparedBy(groups[:1]); by != "" {
		t.Errorf("one combination is compared by %q", by)
	}
}

// TestAPlotThatSaysNothingIsNotDrawn: received by sent rates, where all was received.
func TestAPlotThatSaysNothingIsNotDrawn(t *testing.T) {
	kinds := func(s simulation) []string {
		r, err := result.Open(s.write(t, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, f := range newPageData(r, nil).Figures {
			kinds = append(kinds, f.Kind)
		}
		return kinds
	}
	if got := kinds(simulation{name: "x", kinds: []string{"veth"}, rates: []float64{1000, 2000}, repeats: 1, seconds: 1, seed: 1}); slices.Contains(got, result.FigureRate) {
		t.Errorf("the page draws %q", got)
	}
	lossy := Chosen{Kind: result.FigureRate, Series: []Series{{Points: []SeriesPoint{{X: 1000, Y: 900, Low: 900}}}}}
	if lossy.tellsNothing() {
		t.Error("a loss of a tenth is not drawn")
	}
}

// TestTheAnswerOfGapsIsNotOfPackets: the packets of nines trace are stretches in which a CPU did not run.
func TestTheAnswerOfGapsIsNotOfPackets(t *testing.T) {
	w, err := result.Create(t.TempDir(), "jitter", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	r := simulation{seconds: 1}.trial(rand.New(rand.NewSource(1)), "veth", 1000, 1)
	r.Trial.Variables, r.Details.Role = map[string]any{"cpu": 3.0}, result.JitterRole
	if _, err := w.AddTrial(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	of, err := result.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	lines := pageAnswer(of)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "cpu 3: taken away for ") || !strings.Contains(lines[0], " of 1s, in 1,000 gaps; the longest took ") {
		t.Errorf("the answer is %q", lines)
	}
	if p := newPageData(of, nil); len(p.Figures) > 0 {
		t.Errorf("the page draws %d figures of rates", len(p.Figures))
	}
}

// TestTheAnswerOfASearchIsWhatItFound: its trials lose packets deliberately, and rank nothing.
func TestTheAnswerOfASearchIsWhatItFound(t *testing.T) {
	found := 123_456.0
	trials := []result.Trial{{ID: "0001", Search: "0001", TxPackets: 10, LostPackets: 5, RxPackets: 5, Verdict: result.Clean}}
	r := &result.Result{Summary: result.Summary{Trials: trials}, Searches: []result.Search{{ID: "0001", Method: "mlrsearch", Conformant: true, Variables: map[string]any{},
		Trials: []result.SearchTrial{{ID: "0001"}}, Findings: []result.Finding{{Name: "NDR", Unit: "packets/s", Value: &found}}}}}
	if lines := pageAnswer(r); !slices.Equal(lines, []string{"NDR is 123,456 packets/s."}) {
		t.Errorf("the answer is %q", lines)
	}
}
