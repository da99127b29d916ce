package result

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func summarySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := SummarySchema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("summary.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("summary.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// What nines writes follows the schema: with packets and without, with scripts, of a search, resumed and skipped.
func TestSummariesFollowTheirSchema(t *testing.T) {
	schema := summarySchema(t)
	w := mustCreate(t, t.TempDir())
	plain, scripted := record(1, 5000), record(2, 0)
	scripted.Trial.Search, scripted.Trial.Purpose = "0001", "latency"
	mustAdd(t, w, plain)
	mustAdd(t, w, scripted)
	if err := w.Skip(Skipped{Variables: map[string]any{"links.*.kind": "ovs"}, Reason: "not installed"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Resume(testStart); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(w.Dir(), SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	summary := w.Summary()
	summary.Trials[0].Scripts = []Script{{Node: "dut", Status: "1", How: "exit status 1", TookNs: 5, Uploads: []string{"a"}, MoreUploads: 1, Cut: true}}
	withScripts, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) error {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(document)
	}
	for _, text := range [][]byte{text, withScripts} {
		if err := check(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, wrong := range [][2]string{
		{`"nines/result/v1"`, `"nines/result/v2"`}, {`"tx_packets":`, `"sent":`}, {`"verdict": "noisy"`, `"verdict": "fine"`}, {`"p50": `, `"p50": "x", "p51": `},
	} {
		if broken := strings.Replace(string(text), wrong[0], wrong[1], 1); broken == string(text) || check([]byte(broken)) == nil {
			t.Errorf("%s in place of %s follows the schema", wrong[1], wrong[0])
		}
	}
}

// Every key has a description, but for the percentiles, whose names say it all.
func TestTheSchemaDescribesTrials(t *testing.T) {
	text, err := SummarySchema()
	if err != nil {
		t.Fatal(err)
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[Trial]().NumField() {
		key, _, _ := strings.Cut(reflect.TypeFor[Trial]().Field(i).Tag.Get("json"), ",")
		if property := root.Defs["Trial"].Properties[key]; property == nil || property.Description == "" && property.Ref == "" && !strings.HasSuffix(key, "_packets") && !strings.HasSuffix(key, "_pps") {
			t.Errorf("%s: %+v", key, property)
		}
	}
	if root.Properties["rules"].Description == "" || root.Description == "" {
		t.Errorf("%+v", root.Properties["rules"])
	}
}

// A result that other rules made is not continued: nobody could tell its trials apart.
func TestOtherRulesAreNotContinued(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	mustAdd(t, w, record(1, 10))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(w.Dir())
	if err != nil || again.Summary().Rules != Rules {
		t.Fatalf("%v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.Dir(), SummaryFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"", "by the rules of before nines wrote their version"}, {`"rules": 99,`, "by version 99 of the rules"}} {
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"rules": 3,`, c[0], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Reopen(w.Dir()); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%v, want %q", err, c[1])
		}
	}
}
