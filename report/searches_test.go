package report

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/test/golden"
)

func float(v float64) *float64 { return &v }
func truth(v bool) *bool       { return &v }

// searchedSummary is a result of two searches with two repeats each, a judged one and one that
// found nothing, with the trials to show.
func searchedSummary() (result.Summary, []result.Search) {
	var summary result.Summary
	summary.Schema, summary.Name, summary.Started = result.Schema, "searched", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)
	var searches []result.Search
	next := func(variables map[string]any, repeat int, method string) *result.Search {
		searches = append(searches, result.Search{
			ID: "000" + string(rune('1'+len(searches))), Variables: variables, Repeat: repeat, Method: method,
			Conformant: true, Deviations: []string{}, MeasuringNs: 61e9,
		})
		return &searches[len(searches)-1]
	}
	run := func(s *result.Search, purpose string, pps, p50, max int64) string {
		one := trial("", s.Variables["links.*.kind"].(string), float64(pps), s.Repeat, p50, p50*3, -1, max)
		one.ID = "00" + string([]rune{rune('0' + (len(summary.Trials)+1)/10), rune('0' + (len(summary.Trials)+1)%10)})
		one.Variables, one.Search, one.Purpose = s.Variables, s.ID, purpose
		summary.Trials = append(summary.Trials, one)
		s.Trials = append(s.Trials, result.SearchTrial{ID: one.ID, Purpose: purpose, RatePPS: float64(pps), DurationNs: 1e9})
		return one.ID
	}
	for repeat := 1; repeat <= 2; repeat++ {
		for i, kind := range []string{"veth", "bridge"} {
			s := next(map[string]any{"links.*.kind": kind}, repeat, "mlrsearch")
			rate := float64(800_000 + 10_000*i + 4_000*repeat)
			run(s, "search for NDR", int64(rate*2), 900_000, 9_000_000)
			s.Findings = []result.Finding{
				{Name: "NDR", Unit: "packets/s", Value: &rate, Low: &rate, High: float(rate + 4000), Conditions: map[string]any{"loss_ratio": 0.0}},
				{Name: "PDR", Unit: "packets/s", Value: float(rate * 1.1), Conditions: map[string]any{"loss_ratio": 0.005}},
			}
			if kind == "bridge" && repeat == 2 {
				s.Conformant, s.Deviations = false, []string{"trials of 100ms, because quick is set"}
				s.Findings[1].Value, s.Findings[1].Reason = nil, "the search did not reach its width: 3 trials were invalid"
			}
			for j, load := range []float64{0.5, 1} {
				id := run(s, "latency at a load", int64(load*rate), int64(5000*(j+1)+100*repeat), 90_000)
				s.Findings = append(s.Findings, result.Finding{Name: "latency p50", Unit: "ns", Value: float(5000), Trial: id,
					Conditions: map[string]any{"load": load, "of": "NDR"}})
			}
		}
	}
	judged := next(map[string]any{"links.*.kind": "veth"}, 1, "y1564")
	judged.Passed = truth(false)
	id := run(judged, "latency at 50 % of the committed rate", 2500, 7000, 80_000)
	judged.Findings = []result.Finding{
		{Name: "loss", Unit: "ratio", Value: float(0), Limit: float(0.001), Passed: truth(true), Trial: id, Conditions: map[string]any{"load": 0.5, "test": "configuration", "rate_pps": 2500.0}},
		{Name: "latency p99.9", Unit: "ns", Value: float(54e6), Limit: float(20e6), Passed: truth(false), Trial: id, Conditions: map[string]any{"load": 0.5, "test": "configuration", "rate_pps": 2500.0}},
		{Name: "loss", Unit: "ratio", Reason: "not measured, for the configuration test failed", Conditions: map[string]any{"load": 1.0, "test": "performance"}},
	}
	return summary, searches
}

func TestTableShowsFindings(t *testing.T) {
	summary, searches := searchedSummary()
	var out bytes.Buffer
	if err := WriteTable(&out, summary, TableOptions{Searches: searches}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, filepath.Join("testdata", "searches.txt"), out.String())
}

// windowsSummary is an interrupted soak with this many windows.
func windowsSummary(windows int) result.Summary {
	summary := result.Summary{Schema: result.Schema, Name: "soak", Started: time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)}
	for i := range windows {
		one := trial("", "veth", 1000, 1, 6000, 20_000, int64(40_000+1000*(i%7)), 90_000)
		one.ID, one.Variables, one.Search, one.Purpose = "0000"[:3]+string(rune('a'+i)), map[string]any{}, "0001", result.WindowPurpose+"n of 720"
		summary.Trials = append(summary.Trials, one)
	}
	return summary
}

func TestTableShowsWindowsOfAnUnfinishedSoak(t *testing.T) {
	var out bytes.Buffer
	if err := WriteTable(&out, windowsSummary(24), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, filepath.Join("testdata", "windows.txt"), out.String())
}

// TestRepeatsOfASearchAreFolded checks that a figure has the median of its repeats and the interval
// of the median, and that a repeat without a value is reported.
func TestRepeatsOfASearchAreFolded(t *testing.T) {
	_, searches := searchedSummary()
	groups := SearchGroups(searches)
	if len(groups) != 3 {
		t.Fatalf("%d groups, want veth and bridge by mlrsearch, and veth by y1564", len(groups))
	}
	ndr := groups[0].Findings[0]
	if ndr.Name != "NDR" || *ndr.Value != 806_000 || ndr.Repeats != 2 || ndr.Between != betweenRepeats || *ndr.Low > *ndr.High {
		t.Errorf("NDR over veth is %+v", ndr)
	}
	pdr := groups[1].Findings[1]
	if groups[1].Conformant || pdr.Value == nil || len(pdr.Reasons) != 1 {
		t.Errorf("bridge is conformant %v, and its PDR %+v", groups[1].Conformant, pdr)
	}
	if got := len(groups[0].Findings); got != 2 {
		t.Errorf("%d findings over veth: the latencies under load are the trials'", got)
	}
	if groups[2].Passed == nil || *groups[2].Passed {
		t.Errorf("y1564 passed: %v", groups[2].Passed)
	}
}

// TestOnlyTrialsAtTheResultAreShown checks that the search's other trials, at various rates, are in
// no group.
func TestOnlyTrialsAtTheResultAreShown(t *testing.T) {
	summary, searches := searchedSummary()
	groups := Groups(result.Shown(summary.Trials, searches))
	if len(groups) != 5 { // two kinds at two loads, and a step of y1564
		t.Errorf("%d groups: %+v", len(groups), groups)
	}
	for _, g := range groups {
		if _, ok := g.Variables[result.LoadVariable]; !ok {
			t.Errorf("a group without a load: %+v", g.Variables)
		}
	}
	if _, changed := summary.Trials[1].Variables[result.LoadVariable]; changed {
		t.Error("the summary's own variables were changed")
	}
}

// TestACaseMayBeCalledLoad checks that a sweep's own "load" keeps its meaning.
func TestACaseMayBeCalledLoad(t *testing.T) {
	summary, searches := searchedSummary()
	for i := range summary.Trials {
		summary.Trials[i].Variables = map[string]any{"load": "high"}
	}
	for _, shown := range result.Shown(summary.Trials, searches) {
		if part, ok := shown.Variables["load of the search"].(float64); shown.Variables["load"] != "high" || !ok || part <= 0 {
			t.Errorf("variables %v", shown.Variables)
		}
	}
}

func TestTableJSONHasSearches(t *testing.T) {
	summary, searches := searchedSummary()
	var out bytes.Buffer
	if err := WriteTableJSON(&out, summary, searches, nil, nil); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Groups   []json.RawMessage `json:"groups"`
		Searches []SearchGroup     `json:"searches"`
	}
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || len(read.Groups) != 5 || len(read.Searches) != 3 {
		t.Errorf("%d groups and %d searches (%v)", len(read.Groups), len(read.Searches), err)
	}
}

// TestHostileNamesOfFindings checks that a file cannot control the terminal.
func TestHostileNamesOfFindings(t *testing.T) {
	summary, searches := searchedSummary()
	evil := "x\x1b[2J"
	searches[0].Method, searches[0].Deviations, searches[0].Conformant = evil, []string{evil}, false
	searches[0].Findings = []result.Finding{
		{Name: evil, Unit: evil, Reason: evil, Conditions: map[string]any{evil: evil}},
		{Name: evil, Unit: evil, Reason: evil, Conditions: map[string]any{evil: map[string]any{evil: []any{evil}}}, Trial: evil},
	}
	var out bytes.Buffer
	if err := WriteTable(&out, summary, TableOptions{Searches: searches}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("an escape reached the output:\n%q", out.String())
	}
}

// TestFindingsAreCompared checks that figures of searches are matched by their variables, across
// two results and within one, and that a side without shown trials is no error.
func TestFindingsAreCompared(t *testing.T) {
	summary, searches := searchedSummary()
	a := &result.Result{Dir: "a", Summary: summary, Searches: searches}
	b := &result.Result{Dir: "b", Searches: searches[:2]}
	c := CompareResults(a, b, CompareOptions{})
	if len(c.Findings) != 4 || *c.Findings[0].Ratio >= 1 {
		t.Fatalf("the findings are %+v, want NDR and PDR over two kinds of link", c.Findings)
	}
	kinds, err := CompareValues(a, "kind", "veth", "bridge")
	if err != nil {
		t.Fatal(err)
	}
	if len(kinds.Findings) != 2 || kinds.Findings[0].Interval == nil || *kinds.Findings[0].Ratio != 816_000.0/806_000 {
		t.Errorf("veth and bridge: %+v", kinds.Findings)
	}
	var out bytes.Buffer
	if err := WriteComparison(&out, c); err != nil || !strings.Contains(out.String(), "What the searches found") || strings.Contains(out.String(), "nothing to compare") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := WriteComparisonJSON(&out, kinds); err != nil || !strings.Contains(out.String(), `"findings"`) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestLiveShowsASearch(t *testing.T) {
	var out strings.Builder
	now := &clock{time.Unix(1000, 0)}
	live := NewLive(&out, LiveOptions{Total: 2, Now: now.Now})
	_, searches := searchedSummary()
	p := SearchProgress{Variables: searches[0].Variables, Method: "mlrsearch", Trials: 14, Purpose: "search for NDR", RatePPS: 826_000, LosslessPPS: 812_000, LossyPPS: 1_040_000}
	live.Searching(p)
	now.forward(time.Second)
	live.Searching(p) // too soon for another line
	live.Found(searches[0])
	live.Close()
	want := "1/2  kind=veth  mlrsearch: no loss at 812k, loss at 1.04M packets/s, 14 trials; search for NDR, 826k packets/s\n" +
		"1/2  kind=veth  mlrsearch  NDR 804,000 packets/s  PDR 884,400 packets/s  3 trials in 1 min 1 s  conformant\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestPageHoldsSearches(t *testing.T) {
	dir := quickstartSimulation().write(t, t.TempDir())
	file := `{"schema":"nines/searches/v1","searches":[{"id":"0001","variables":{"links.*.kind":"</script>"},"repeat":1,"method":"tst009",
		"conformant":true,"findings":[{"name":"throughput","unit":"packets/s","value":1000}],"trials":[{"id":"0001"}]}]}`
	if err := os.WriteFile(dir+"/"+result.SearchesFile, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := WritePage(dir, &page); err != nil {
		t.Fatal(err)
	}
	data := dataOf(t, page.Bytes())
	if len(data.Searches) != 1 || *data.Searches[0].Findings[0].Value != 1000 || data.Searches[0].Variables["links.*.kind"] != "</script>" {
		t.Errorf("the page has %+v", data.Searches)
	}
}

// TestConditionsThatDifferFollowTheirDefinition compares each pair of findings of one name, which
// takes too long for a file of someone else's with thousands.
func TestConditionsThatDifferFollowTheirDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	values := []any{nil, "", 1.0, "a"}
	for range 2000 {
		all := make([]GroupFinding, random.IntN(5))
		for i := range all {
			all[i] = GroupFinding{Name: []string{"x", "y"}[random.IntN(2)], Conditions: map[string]any{}}
			for _, name := range []string{"p", "q"} {
				if random.IntN(3) > 0 {
					all[i].Conditions[name] = values[random.IntN(len(values))]
				}
			}
		}
		differ := differences(all)
		for _, f := range all {
			for name, value := range f.Conditions {
				want := slices.ContainsFunc(all, func(other GroupFinding) bool {
					return other.Name == f.Name && result.FormatVariable(other.Conditions[name]) != result.FormatVariable(value)
				})
				if got := differ[condition{f.Name, name}]; got != want {
					t.Fatalf("%s of %s in %+v: %v, want %v", name, f.Name, all, got, want)
				}
			}
		}
	}
}
