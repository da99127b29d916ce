package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"nines.dev/nines/lab"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/result"
)

// acts is what a terminal would act on: a title, a colour by the one-character form of ESC [, a change of
// the writing direction, and a line that looks like one of nines.
const (
	acts    = "\x1b]0;evil\x07\u009b31m\u202e\r" + pretend
	pretend = "\nnines: all is well"
)

// poison puts such text into every text and name of a JSON value, but for those that nines must
// know to read the file at all.
func poison(value any, known ...string) any {
	switch value := value.(type) {
	case string:
		return value + acts
	case []any:
		for i := range value {
			value[i] = poison(value[i], known...)
		}
	case map[string]any:
		for key, one := range value {
			if key == "variables" || key == "conditions" {
				named := map[string]any{}
				for name, v := range one.(map[string]any) {
					named[name+acts] = poison(v)
				}
				value[key] = named
			} else if !slices.Contains(known, key) {
				value[key] = poison(one, known...)
			}
		}
	}
	return value
}

// foreign makes a result that someone has written to attack who reads it.
func foreign(t *testing.T) string {
	t.Helper()
	dir := writeTraced(t)
	extra := map[string]string{
		result.SearchesFile: `{"schema":"nines/searches/v1","searches":[{"id":"0001","variables":{"links.*.kind":"veth"},"repeat":1,
			"method":"mlrsearch","conformant":false,"deviations":["quick"],"trials":[{"id":"0001"}],"findings":[
			{"name":"NDR","unit":"packets/s","value":2719.1,"low":2710.1,"high":2733.7,"conditions":{"loss_ratio":0,"of":"all"}},
			{"name":"PDR","unit":"packets/s","value":null,"reason":"none was found"}]}]}`,
		result.PublishedFile: `{"schema":"nines/published/v1","published":[{"source":"a paper","figure":"rate","series":"ovs","points":[[1,1],[2,2]]},
			{"source":"a paper","figure":"latency","series":"ovs","points":[[2,1000],[10,2000]]}]}`,
		filepath.Join("trials", "0001", result.EngineLogFile): "said" + acts,
		result.ExperimentFile: "name: x\n", result.PlanFile: `{"nodes":[{"name":"a"}]}`, result.HostFile: `{"hostname":"h"}`,
	}
	for name, text := range extra {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		if text, err = json.Marshal(poison(value, "schema", "id", "started", "figure", "role", "kind", "trace")); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// actsOn is the first character of text that a terminal acts on, with what stands around it.
func actsOn(text string) string {
	if strings.Contains(text, pretend) {
		return pretend
	}
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return strings.ToValidUTF8(text[max(0, i-60):min(len(text), i+20)], "")
		}
	}
	return ""
}

// TestForeignResultsMoveNoCursor reads a hostile result with every verb that reads one.
func TestForeignResultsMoveNoCursor(t *testing.T) {
	dir := foreign(t)
	broken := foreign(t) // its message quotes the file
	text, err := os.ReadFile(filepath.Join(broken, result.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, result.SummaryFile), []byte(strings.Replace(string(text), "nines/result/v1", "nines/\x1b[2J\u009b", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(filepath.Dir(dir))
	for _, args := range [][]string{
		{"report", dir}, {"report", dir, "--repeats"}, {"report", dir, "--tail"}, {"report", dir, "--format", "json"}, {"report", dir, "--tail", "--format", "json"},
		{"report", broken}, {"compare", dir, dir}, {"expect", dir, "--that", "p99 < 1us", "--that", "loss == 0", "--markdown", "/dev/null"}, {"expect", dir, "--that", "p99 < 1us where x=1"}, {"expect", dir}, {"expect", dir, "--that", "max < 1s", "--format", "json"}, {"compare", dir, dir, "--format", "json"}, {"compare", dir, "--by", "x=a,b"}, {"compare", dir, "--by", "kind=a,b"}, {"figure", dir, "--where", "kind=a", "--out", "-"}, {"figure", dir, "--trials", "0009", "--out", "-"},
		{"explain", dir}, {"explain", dir, "--packet", "7"}, {"explain", dir, "--format", "json"}, {"explain", dir, "--trial", "0009"},
		{"export", dir, "--format", "csv"}, {"export", dir, "--format", "json"}, {"export", dir, "--format", "hlog"}, {"export", dir, "--format", "csit"}, {"export", dir, "--trial", "0009"},
		{"figure", dir, "--out", "-", "--format", "svg"}, {"figure", dir, "--out", "-", "--format", "tex"}, {"figure", dir, "--kind", "loss", "--out", filepath.Join(t.TempDir(), "x.svg")},
		{"results", "ls", "--out", root}, {"results", "show", dir, "--out", root}, {"results", "ls", "--out", root, "--format", "json"}, {"results", "show", dir, "--out", root, "--format", "json"},
		{"results", "query", "select * from findings, variables, results", "--out", root}, {"results", "query", "select * from findings, variables, trials", "--out", root, "--format", "csv"},
		{"results", "query", "select * from findings, variables", "--out", root, "--format", "json"},
	} {
		_, stdout, stderr := call(args...)
		if slices.Contains(args, "csv") { // a cell of several lines is between quotes
			stdout = strings.ReplaceAll(stdout, pretend, "")
		}
		if found := actsOn(stdout); found != "" {
			t.Errorf("%q prints %q", args, found)
		}
		if found := actsOn(stderr); found != "" {
			t.Errorf("%q complains with %q", args, found)
		}
		if stdout+stderr == "" {
			t.Errorf("%q prints nothing", args)
		}
	}
}

// TestWhatRunsInNodesMovesNoCursor: a health check, a script, a process's name and a log end up in what
// commands on labs say.
func TestWhatRunsInNodesMovesNoCursor(t *testing.T) {
	in := &lab.Inspection{
		NodeList: []lab.NodeState{
			{Name: "a", Alive: true, Health: &watch.NodeHealth{Health: &health.Health{Status: health.Unhealthy, Said: "said" + acts}, Failed: "said" + acts}},
		},
	}
	var out strings.Builder
	writeHealth(&out, in)
	writeDisturbances(&out, &lab.Inspection{Disturbances: []disturb.State{{LastLines: "said" + acts}}})
	writePrograms(&out, lab.LinkState{Programs: []running.ProgramState{{LastLines: "said" + acts}}})
	writeNotes(&out, []string{"said" + acts})
	progressTo(&out)("said" + acts)
	if count := strings.Count(out.String(), "said"); count != 6 {
		t.Errorf("%d of 6 were said: %q", count, out.String())
	}
	for _, r := range out.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Fatalf("%q is said as it is: %q", r, out.String())
		}
	}
}
