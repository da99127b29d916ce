package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// storeOf returns the folder of all results that holds a result of writeResult.
func storeOf(dir string) string { return filepath.Dir(filepath.Dir(dir)) }

func TestResultsVerbs(t *testing.T) {
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			var index []string
			if name == "postgres" {
				server := labtest.Postgres(t)
				t.Setenv("PGPASSWORD", server.Password)
				index = []string{"--index", server.URL("postgres")}
			}
			dir := writeResult(t, "veth", "bridge")
			root := storeOf(dir)
			results := func(args ...string) (int, string, string) {
				return call(append(append([]string{"results"}, args...), append([]string{"--out", root}, index...)...)...)
			}
			for _, test := range []struct {
				args []string
				want string
			}{
				{[]string{"ls"}, "verbs/2026-11-20T18-30-05Z"},
				{[]string{"ls", "--verdict", "clean", "--var", "kind=veth"}, "4 clean"},
				{[]string{"ls", "--verdict", "noisy"}, "no result"},
				{[]string{"ls", "--name", "x*", "--format", "json"}, "[]"},
				{[]string{"show", "latest"}, "links.in.kind  veth, bridge"},
				{[]string{"show", dir, "--format", "json"}, `"folder": "verbs/2026-11-20T18-30-05Z"`},
				{[]string{"query", "select count(*) as trials from trials"}, "trials\n4\n(1 row)\n"},
				{[]string{"query", "select trial, latency_p99_9_ns, latency_p99_99_ns, verdict = 'clean' and 1 > 2 as never from trials order by 1 limit 1", "--format", "csv"},
					"trial,latency_p99_9_ns,latency_p99_99_ns,never\n0001,5999,,"},
				{[]string{"query", "select name, count(*) as n, avg(repeat) as mean from results join trials using (result) group by name", "--format", "json"},
					`{"name": "verbs", "n": 4, "mean": 1.5`},
				{[]string{"query", "select * from findings", "--format", "json"}, "[]\n"},
				{[]string{"index"}, "1 results read, 0 forgotten, 0 left out"},
				{[]string{"index", "--format", "json"}, `"read": 1`},
				{[]string{"rm", "latest", "--dry-run"}, ""},
			} {
				code, stdout, stderr := results(test.args...)
				if code != exit.Done || !strings.Contains(stdout, test.want) {
					t.Errorf("nines results %s: code %d\n%s%s\nwant %q", strings.Join(test.args, " "), code, stdout, stderr, test.want)
				}
			}
			for _, said := range []string{"verb", "verbs/2026-11-20T18-30-06Z"} {
				if code, _, stderr := results("show", said); code != exit.Wrong || !strings.Contains(stderr, "did you mean verbs/2026-11-20T18-30-05Z?") {
					t.Errorf("nines results show %s: code %d, %s", said, code, stderr)
				}
			}
			if _, err := os.Stat(dir); err != nil {
				t.Fatalf("after --dry-run: %v", err)
			}
			if code, _, stderr := results("rm", "latest", "--yes"); code != exit.Done {
				t.Errorf("rm: code %d, %s", code, stderr)
			}
			if _, err := os.Stat(filepath.Dir(dir)); !os.IsNotExist(err) {
				t.Errorf("after rm: %v", err)
			}
			if code, stdout, _ := results("ls"); code != exit.Done || stdout != "no result\n" {
				t.Errorf("after rm: code %d, %s", code, stdout)
			}
		})
	}
}

// The name of someone else's experiment must not control the terminal.
func TestResultsShowNoControlCharacters(t *testing.T) {
	w, err := result.Create(t.TempDir(), "evil\x1b[2Jname\u202e", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	root := storeOf(w.Dir())
	for _, args := range [][]string{{"ls"}, {"show", w.Dir()}, {"query", "select name from results"}} {
		code, stdout, _ := call(append(append([]string{"results"}, args...), "--out", root)...)
		if code != exit.Done || strings.ContainsAny(stdout, "\x1b\u202e") || !strings.Contains(stdout, "evil?[2Jname") {
			t.Errorf("%q: code %d, %q", args, code, stdout)
		}
	}
}

// Figures that searches found are shown with their conditions.
func TestResultsShowFindings(t *testing.T) {
	dir := writeResult(t, "veth")
	if err := os.WriteFile(filepath.Join(dir, result.SearchesFile), []byte(`{"schema":"nines/searches/v1","searches":[{"id":"0001","variables":{"links.*.kind":"veth"},"repeat":1,
		"method":"mlrsearch","conformant":false,"deviations":["quick"],"trials":[{"id":"0001"}],"findings":[
		{"name":"NDR","unit":"packets/s","value":271940.14224639704,"low":271940.1,"high":273306.7,"conditions":{"loss_ratio":0,"of":"all"}},
		{"name":"PDR","unit":"packets/s","value":null,"reason":"none was found"}]}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := call("results", "show", dir, "--out", storeOf(dir))
	squeezed := strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{"0001 mlrsearch no links.*.kind=veth NDR 271940.1 271940.1 273306.7 packets/s loss_ratio=0 of=all", "PDR - - - packets/s none was found"} {
		if code != exit.Done || !strings.Contains(squeezed, want) {
			t.Errorf("code %d\n%s%s\nwant %q", code, stdout, stderr, want)
		}
	}
}

func TestResultsRefuse(t *testing.T) {
	dir := writeResult(t, "veth")
	root := storeOf(dir)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no index"), 0o644); err != nil {
		t.Fatal(err)
	}
	hostile := filepath.Join(root, "hostile", "x")
	if err := os.MkdirAll(hostile, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hostile, result.SummaryFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call("results", "ls", "--out", root)
	if code != exit.Done || !strings.Contains(stderr, "nines: hostile/x is left out: summary.json:1 is damaged") {
		t.Errorf("a hostile folder: code %d, %q", code, stderr)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ls", "--out", filepath.Join(root, "none")}, exit.Wrong, "--out"},
		{[]string{"ls", "--out", root, "--format", "csv"}, exit.Wrong, "--format"},
		{[]string{"ls", "--out", root, "--var", "kind"}, exit.Wrong, "KEY=VALUE"},
		{[]string{"ls", "--out", root, "--var", "kind=veth", "--var", "kind=xdp"}, exit.Wrong, "both veth and xdp"},
		{[]string{"ls", "--out", root, "--verdict", "fine"}, exit.Wrong, "clean, noisy, invalid"},
		{[]string{"ls", "--out", root, "--limit", "-1"}, exit.Wrong, "--limit"},
		{[]string{"ls", "--out", root, "--name", "["}, exit.Wrong, "is invalid"},
		{[]string{"ls", "--out", root, "--index", text}, exit.Wrong, "not a SQLite database"},
		{[]string{"ls", "--out", root, "--index", "mysql://u:hush@h"}, exit.Wrong, "postgres://"},
		{[]string{"ls", "--out", root, "--index", "postgres://u:hush@127.0.0.1:1/d"}, exit.Failed, "cannot be reached"},
		{[]string{"show", "--out", root}, exit.Wrong, "one result"},
		{[]string{"show", "nothing", "--out", root}, exit.Wrong, "'nines results ls' lists the results"},
		{[]string{"query", "--out", root}, exit.Wrong, "one statement"},
		{[]string{"query", "drop table results", "--out", root}, exit.Wrong, "only reading"},
		{[]string{"query", "with x as (select 1) delete from results", "--out", root}, exit.Wrong, "can only be read"},
		{[]string{"query", "select nothing from results", "--out", root}, exit.Failed, "nothing"},
		{[]string{"query", "select 1", "--out", root, "--format", "xml"}, exit.Wrong, "table, json, csv"},
		{[]string{"query", "select 1", "--out", root, "--timeout", "0s"}, exit.Wrong, "--timeout"},
		{[]string{"rm", "--out", root}, exit.Wrong, "takes results"},
		{[]string{"rm", "latest", "--out", root}, exit.Wrong, "--yes"},
		{[]string{"rm", hostile, "--out", root, "--yes"}, exit.Wrong, "not of nines"},
		{[]string{"rm", "/", "--out", root, "--yes"}, exit.Wrong, "does not exist"},
	} {
		code, _, stderr := call(append([]string{"results"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "hush") {
			t.Errorf("nines results %s: code %d, %q; want %d, %q", strings.Join(test.args, " "), code, stderr, test.code, test.want)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the result: %v", err)
	}
	// No help text shows a URL from the environment.
	t.Setenv("NINES_INDEX", "postgres://u:hush@h/d")
	if code, stdout, _ := call("results", "ls", "--help"); code != exit.Done || strings.Contains(stdout, "hush") {
		t.Errorf("help: code %d\n%s", code, stdout)
	}
}

func TestExportVerb(t *testing.T) {
	dir := writeResult(t, "veth", "bridge")
	file := filepath.Join(t.TempDir(), "out")
	for format, want := range map[string]string{"csv": "result,result_started,id,links.in.kind", "parquet": "PAR1", "hlog": "#[nines: verbs", "json": `{"schema":"nines/export/v1"`, "csit": "trial\tdirection"} {
		code, stdout, stderr := call("export", dir, "--format", format)
		if code != exit.Done || !strings.HasPrefix(stdout, want) || stderr != "" {
			t.Errorf("%s: code %d, %.100q, %s", format, code, stdout, stderr)
		}
		if code, _, stderr := call("export", dir, "--format", format, "--out", file); code != exit.Done {
			t.Errorf("%s: code %d, %s", format, code, stderr)
		}
		if written, err := os.ReadFile(file); err != nil || string(written) != stdout {
			t.Errorf("%s: the file has %d bytes, standard output %d (%v)", format, len(written), len(stdout), err)
		}
	}
	code, stdout, _ := call("export", dir, "--format", "json", "--trial", "2", "--trial", "0003")
	var doc struct{ Trials []struct{ ID string } }
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != exit.Done || len(doc.Trials) != 2 || doc.Trials[0].ID != "0002" {
		t.Errorf("two trials: code %d, %+v (%v)", code, doc, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".nines*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q (%v)", left, err)
	}
}

func TestExportRefuses(t *testing.T) {
	dir := writeResult(t, "veth")
	kept := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(kept, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exit.Wrong, "takes one result folder"},
		{[]string{dir, "--format", "xml"}, exit.Wrong, "csv, parquet, hlog, json, csit, packets"},
		{[]string{dir, "--trial", "9"}, exit.Wrong, "the result has 0001, 0002"},
		{[]string{dir, "--series", "latency"}, exit.Wrong, "for --format hlog"},
		{[]string{dir, "--blocks"}, exit.Wrong, "for --format hlog and json"},
		{[]string{dir, "--format", "hlog", "--blocks", "--merge"}, exit.Wrong, "use one of them"},
		{[]string{dir, "--format", "hlog", "--series", "x"}, exit.Wrong, "latency, from_tx, send_lag"},
		{[]string{dir, "--format", "packets", "--out", kept}, exit.Wrong, "traffic.packets"},
		{[]string{dir, "--out", filepath.Join(dir, "none", "x")}, exit.Failed, "no such file"},
		{[]string{t.TempDir()}, exit.Wrong, "has no summary.json"},
	} {
		code, _, stderr := call(append([]string{"export"}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("nines export %s: code %d, %q; want %d, %q", strings.Join(test.args, " "), code, stderr, test.code, test.want)
		}
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "before" {
		t.Errorf("a failed export left %q (%v)", text, err)
	}
	if err := os.Remove(filepath.Join(dir, "trials", "0001", result.HlogFile)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call("export", dir, "--format", "hlog", "--out", kept); code != exit.Failed || !strings.Contains(stderr, "latency.hlog") {
		t.Errorf("without a histogram: code %d, %s", code, stderr)
	}
}
