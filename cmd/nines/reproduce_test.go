package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/reproduce"
)

// TestReproduceLists: a list measures nothing, and says of each claim whether this host can decide it.
func TestReproduceLists(t *testing.T) {
	t.Setenv(publishedData, "")
	for _, c := range []struct{ args, want string }{{"reproduce", "decidable here"}, {"reproduce ara2019", "table-1-batches  table 1, section 3, ratio"}} {
		if code, out, words := call(strings.Fields(c.args)...); code != exit.Done || !strings.Contains(out, c.want) {
			t.Errorf("%s: code %d\n%s%s", c.args, code, out, words)
		}
	}
	_, out, words := call("reproduce", "wiedner2023", "--format", "json")
	var d reproduce.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || len(d.Papers) != 1 {
		t.Fatalf("%v\n%s%s", err, out, words)
	}
	for _, c := range d.Papers[0].Claims {
		if c.Judged != nil || len(c.Missing) == 0 {
			t.Errorf("%s: %+v, %q", c.ID, c.Judged, c.Missing)
		}
	}
}

func TestReproduceWrongCalls(t *testing.T) {
	for args, want := range map[string]string{
		"reproduce ara2020":                     `unknown paper "ara2020"`,
		"reproduce --claim x":                   "--claim is valid only with a paper",
		"reproduce ara2019 --claim table-1":     `ara2019 has no claim "table-1"`,
		"reproduce ara2019 fujimoto2021":        "takes one paper",
		"reproduce --from x --quick":            "--from prints what was judged",
		"reproduce --from nowhere":              "give the folder of a reproduction",
		"reproduce --format csv":                `unknown --format "csv"`,
		"reproduce --papers /nowhere/of/papers": "there is no paper",
	} {
		if code, _, words := call(strings.Fields(args)...); code != exit.Wrong || !strings.Contains(words, want) {
			t.Errorf("%s: code %d: %s, want %s", args, code, words, want)
		}
	}
}

// TestReproduceKeeps: a folder has the document and the pages, and --from prints it with the same exit code.
func TestReproduceKeeps(t *testing.T) {
	dir := t.TempDir()
	d := &reproduce.Document{Schema: reproduce.Schema, Started: time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC), Command: "nines reproduce doe2020 --quick",
		Papers: []reproduce.PaperClaims{{ID: "doe2020", Authors: "A. Doe", Title: "On <latency>", In: "a journal", Year: 2020, Claims: []reproduce.ClaimDocument{
			{ID: "fast", Source: "figure 1", Claim: "It is fast.", Kind: reproduce.Bound},
			{ID: "large", Source: "figure 2", Claim: "It is large.", Kind: reproduce.Order, Missing: []string{"it needs 99 CPUs"}},
		}}}}
	d.Add(reproduce.Judged{Paper: "doe2020", Claim: "fast", Verdict: reproduce.Held, Because: []string{"p99 < 1ms: holds"},
		Expected: []reproduce.Expected{{Expectation: "p99 < 1ms", Cases: []reproduce.Case{{Why: "holds: p99 is 3.1 µs (2.9 to 3.4)"}}}}})
	d.Close()
	if err := keep(d, dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "doe2020.html"))
	if err != nil || !strings.Contains(string(page), "On &lt;latency&gt;") || !strings.Contains(string(page), "3.1 µs (2.9 to 3.4)") || !strings.Contains(string(page), "it needs 99 CPUs") {
		t.Errorf("%v\n%s", err, page)
	}
	for format, want := range map[string]string{"table": "not decidable here\n    it needs 99 CPUs", "markdown": "| `large` | figure 2 | It is large. | order |", "json": `"verdict": "holds"`} {
		if code, out, _ := call("reproduce", "--from", dir, "--format", format); code != exit.Undecided || !strings.Contains(out, want) {
			t.Errorf("%s: code %d\n%s", format, code, out)
		}
	}
}

// TestACallIsKeptAsItIsTyped, so that a reader of a page can repeat it.
func TestACallIsKeptAsItIsTyped(t *testing.T) {
	c := newReproduceCommand()
	k := reproduceCall{claims: []string{"one", "two"}, quick: true}
	if got := k.calledAs(c, []string{"doe2020"}); got != "reproduce doe2020 --claim one --claim two --quick" {
		t.Error(got)
	}
}
