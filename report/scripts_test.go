package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// scripted writes a result whose trials are what scripts did: in the second one dut failed.
func scripted(t *testing.T, repeats int) *result.Result {
	t.Helper()
	w, err := result.Create(t.TempDir(), "scripted", time.Unix(1e9, 0))
	if err != nil {
		t.Fatal(err)
	}
	for i := range repeats {
		if _, err := w.NewTrialScripts(); err != nil {
			t.Fatal(err)
		}
		rec := result.Record{
			Trial: result.Trial{Variables: map[string]any{"variables.rate": float64(i)}, Repeat: 1, Verdict: result.Unmeasured, Reasons: []string{"no traffic"}, Scripts: []result.Script{
				{Node: "loadgen", Status: "0", TookNs: 1.5e9, Uploads: []string{"a.csv", "b.csv", "c.csv", "d.csv", "e.csv"}},
				{Node: "dut", Status: "0", TookNs: 2e9},
			}},
			Details:    result.Details{Role: "scripts", DurationNs: 2e9},
			Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()},
		}
		if i == 1 {
			rec.Trial.Scripts[1].Status, rec.Trial.Scripts[1].How = "3", "ended with status 3: no card"
			rec.Trial.Verdict, rec.Trial.Reasons = result.Invalid, []string{"the script of node dut ended with status 3: no card"}
		}
		if _, err := w.AddTrial(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := result.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 {
		t.Errorf("the result has problems: %q", r.Problems)
	}
	return r
}

func TestTheTableHasScripts(t *testing.T) {
	r := scripted(t, 2)
	var out bytes.Buffer
	if err := WriteTable(&out, r.Summary, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	said := out.String()
	for _, want := range []string{
		"0001", "loadgen", "a.csv b.csv c.csv d.csv and 1 more", "1.50", "scripts/TRIAL/NODE", "the script of node dut ended with status 3: no card",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("there is no %q in\n%s", want, said)
		}
	}
	// Nothing was sent, so nothing is said of packets.
	for _, not := range []string{"p99", "offered"} {
		if strings.Contains(said, not) {
			t.Errorf("there is %q in\n%s", not, said)
		}
	}
}

func TestManyScriptsAreCut(t *testing.T) {
	r := scripted(t, mostScriptRows)
	var out bytes.Buffer
	if err := WriteTable(&out, r.Summary, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(out.String(), "scripts\n\n")
	if !strings.Contains(table, fmt.Sprintf("and %d more; summary.json", mostScriptRows)) {
		t.Errorf("it does not say how many are left out:\n%s", table)
	}
	if failed, fine := strings.Index(table, " 3 "), strings.Index(table, "loadgen"); failed < 0 || failed > fine {
		t.Errorf("the script that failed is not the first:\n%s", table)
	}
}

func TestThePageHasScripts(t *testing.T) {
	r := scripted(t, 2)
	var page bytes.Buffer
	if err := WritePageOf(r, &page, PageOptions{}); err != nil {
		t.Fatal(err)
	}
	data := dataOf(t, page.Bytes())
	if len(data.Problems) > 0 {
		t.Errorf("the page has problems: %q", data.Problems)
	}
	if len(data.Trials) != 2 || len(data.Trials[0].Scripts) != 2 || data.Trials[0].Scripts[0].Uploads[0] != "a.csv" || data.Trials[1].Scripts[1].Status != "3" {
		t.Errorf("the page has %+v", data.Trials)
	}
}
