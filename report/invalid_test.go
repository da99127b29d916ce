package report

import (
	"context"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// swept is a trial of a sweep over rates and frame sizes.
func swept(id string, bytes, pps, receivedShare float64, verdict result.Verdict) Evidence {
	t := trial(id, "veth", pps, 1, 5000, 6000, 7000, 8000)
	t.Variables = map[string]any{frameBytesKey: bytes, ratePPSKey: pps}
	t.OfferedPPS, t.TxPackets, t.RxPackets = pps, 1000, uint64(1000*receivedShare)
	t.LostPackets, t.Verdict = t.TxPackets-t.RxPackets, verdict
	return Evidence{Trial: t}
}

// TestTheHighestRateOfASweepIsNoMaximum: only what was sent as fast as possible, or a maximum that rates are parts of,
// says what the most is.
func TestTheHighestRateOfASweepIsNoMaximum(t *testing.T) {
	given := []Evidence{swept("1", 64, 1000, 1, result.Clean), swept("2", 64, 2000, 1, result.Clean),
		swept("3", 512, 1000, 1, result.Clean), swept("4", 512, 2000, 1, result.Clean)}
	for _, f := range ChooseFigures(given, nil, nil) {
		if f.Kind == result.FigureSize || f.Kind == result.FigureMaximum {
			t.Errorf("of given rates there is a figure %s: %+v", f.Kind, f.Series)
		}
	}
	beyond := append([]Evidence{swept("7", 64, 4000, 0.6, result.Clean)}, given...)
	if f := ChooseFigures(beyond, nil, nil)[0]; f.Kind != result.FigureSize || len(f.Series[0].Points) != 1 || f.Series[0].Points[0].Y != 2400 {
		t.Errorf("of rates beyond the maximum at one size there is a figure %s: %+v", f.Kind, f.Series)
	}
	most := append(given, swept("5", 64, 0, 1, result.Clean), swept("6", 512, 0, 1, result.Clean))
	for i := range most[4:] {
		most[4+i].Trial.OfferedPPS = 5000
	}
	found := false
	for _, f := range ChooseFigures(most, nil, nil) {
		if f.Kind == result.FigureSize {
			found = true
			for _, p := range f.Series[0].Points {
				if p.Y != 5000 {
					t.Errorf("the maximum at %g bytes is %g", p.X, p.Y)
				}
			}
		}
	}
	if !found {
		t.Error("of rate 0 there is no figure of the maximum by frame size")
	}
}

// TestFiguresMarkInvalidTrials: they have points, which tell that they are no measurement.
func TestFiguresMarkInvalidTrials(t *testing.T) {
	trials := []Evidence{swept("1", 64, 1000, 1, result.Clean), swept("2", 64, 2000, 1, result.Invalid), swept("3", 64, 3000, 1, result.Noisy), swept("4", 64, 3000, 1, result.Invalid)}
	for _, f := range ChooseFigures(trials, nil, nil) {
		if f.Kind != result.FigureLoad && f.Kind != result.FigureRate {
			continue
		}
		var marks []int
		for _, p := range f.Series[0].Points {
			marks = append(marks, p.Repeats, p.Invalid)
		}
		if len(marks) != 6 || marks[1] != 0 || marks[3] != 1 || marks[4] != 2 || marks[5] != 1 {
			t.Errorf("%s: repeats and invalid ones are %v", f.Kind, marks)
		}
		if p := f.Series[0].Points; p[0].AllInvalid() || !p[1].AllInvalid() || p[2].AllInvalid() {
			t.Errorf("%s: %+v", f.Kind, p)
		}
	}
}

// TestAnInvalidMaximumIsNotTheHighest of one that counts.
func TestAnInvalidMaximumIsNotTheHighest(t *testing.T) {
	valid, invalid := SeriesPoint{Y: 1, Repeats: 1}, SeriesPoint{Y: 2, Repeats: 2, Invalid: 2}
	if invalid.above(valid) || !valid.above(invalid) {
		t.Error("an invalid point is above a valid one")
	}
}

// TestOneSourceOfCounts: the table, its JSON and the page of a search count the same trials and packets.
func TestOneSourceOfCounts(t *testing.T) {
	summary := result.Summary{Name: "found", Started: time.Unix(1e9, 0)}
	searches := []result.Search{{ID: "0001", Repeat: 1, Method: "rfc2544", Variables: map[string]any{}, Conformant: true}}
	for i, id := range []string{"0001", "0002", "0003"} {
		one := trial(id, "", 1000, 1, 5000, 6000, 7000, 8000)
		one.Variables, one.Search = map[string]any{}, "0001"
		one.TxPackets, one.RxPackets, one.LostPackets, one.UnsentPackets = 1000, 990, 10, uint64(i)
		summary.Trials = append(summary.Trials, one)
		searches[0].Trials = append(searches[0].Trials, result.SearchTrial{ID: id})
	}
	searches[0].Findings = []result.Finding{{Name: "latency p99", Unit: "ns", Value: new(float64), Trial: "0003", Conditions: map[string]any{"load": 0.5, "of": "throughput"}}}
	totals := TotalsOf(summary.Trials, searches)
	if totals.Trials != 3 || totals.Shown != 1 || totals.Lost != 30 || totals.Received != 2970 || totals.Unsent != 3 || totals.Verdicts[result.Clean] != 3 {
		t.Errorf("%+v", totals)
	}
	var table, document strings.Builder
	if err := WriteTable(&table, summary, TableOptions{Searches: searches}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 trials of 1 search", "2,970 packets received, 30 lost, 3 due and not sent", "1 of 3 trials"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	if err := WriteTableJSON(&document, summary, searches, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(document.String(), `"lost_packets": 30`) {
		t.Error(document.String())
	}
	if page := newPageData(&result.Result{Summary: summary, Searches: searches}, nil); page.Totals.Lost != 30 || page.Totals.Trials != 3 {
		t.Errorf("the page has %+v", page.Totals)
	}
}

// TestATailOfInvalidTrials is refused, for what they are: packets were measured.
func TestATailOfInvalidTrials(t *testing.T) {
	tail, err := tailOf(context.Background(), &result.Result{}, Group{Trials: []result.Trial{swept("1", 64, 1000, 1, result.Invalid).Trial}}, 0.999)
	if err != nil || len(tail.Refused) != 1 || tail.Refused[0] != "all its trials are invalid" {
		t.Errorf("%+v, %v", tail.Refused, err)
	}
}
