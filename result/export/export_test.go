package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
)

func TestVariablesKeepTheirTypes(t *testing.T) {
	kinds := map[string]result.Kind{}
	for _, c := range table(t, fixture(t)).Columns {
		if _, twice := kinds[c.Name]; twice {
			t.Errorf("two columns are called %s", c.Name)
		}
		kinds[c.Name] = c.Kind
	}
	for name, want := range map[string]result.Kind{"links.*.kind": result.KindText, "traffic.rate_pps": result.KindInteger, "traffic.load": result.KindReal, "traffic.on": result.KindBoolean,
		"variable_verdict": result.KindText, "mixed": result.KindText, "started": result.KindTime, "offered_pps": result.KindReal, "lost_packets": result.KindInteger, "latency_p99_9_ns": result.KindInteger} {
		if got, there := kinds[name]; !there || got != want {
			t.Errorf("%s is %d (%v), want %d", name, got, there, want)
		}
	}
}

func TestCSV(t *testing.T) {
	r := fixture(t)
	var out bytes.Buffer
	if err := WriteCSV(&out, table(t, r)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	last := map[string]string{}
	for i, name := range rows[0] {
		last[name] = rows[4][i]
	}
	for name, want := range map[string]string{"result": "exported", "id": "0004", "links.*.kind": `bridge, "quoted"`, "traffic.rate_pps": "2000", "traffic.on": "false",
		"repeat": "2", "search": "0001", "purpose": "latency at 50 %", "offered_pps": "1000.5", "lost_packets": "2", "latency_min_ns": "20000", "latency_mean_ns": "20499.5",
		"latency_p99_99_ns": "", "latency_max_ns": "20999", "verdict": "noisy", "variable_verdict": "a key of ours", "reasons": "steal; a line\nbroken",
		"started": "2026-11-20T18:33:05.123456789Z", "duration_ns": "1500000000", "gap_max_ns": "9", "gap_total_ns": "18", "gap_count": "3", "dropped_packets": "7",
		"frame_bytes": "", "packets_file": ""} {
		if got, there := last[name]; !there || got != want {
			t.Errorf("%s is %q (%v), want %q", name, got, there, want)
		}
	}
}

// The document has what the folder has, and lists what is missing.
func TestJSONDocument(t *testing.T) {
	r := fixture(t)
	if err := os.Remove(filepath.Join(r.Dir, "trials", "0002", result.OutliersFile)); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var told []int
	if err := WriteJSON(&out, r, r.Summary.Trials, false, func(done, of int) { told = append(told, done, of) }); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(told, []int{0, 4, 1, 4, 2, 4, 3, 4}) {
		t.Errorf("progress: %v", told)
	}
	var doc struct {
		Schema, Name, Experiment string
		Host                     json.RawMessage
		Trials                   []evidence
		Searches                 []result.Search
		Baselines, Maxima        []evidence
		Problems                 []string
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != DocumentSchema || doc.Name != "exported" || doc.Experiment != "name: exported\n" || !strings.Contains(string(doc.Host), "lab1") || len(doc.Trials) != 4 || len(doc.Searches) != 1 {
		t.Errorf("%+v", doc)
	}
	if len(doc.Problems) != 1 || !strings.Contains(doc.Problems[0], "trials/0002/outliers.csv") {
		t.Errorf("problems: %q", doc.Problems)
	}
	first := doc.Trials[0]
	if first.Details == nil || first.Details.Role != "loop" || len(first.Outliers) != 1 || first.Outliers[0].Cause != "timer" || len(first.Rates) != 1 || len(first.Histograms) != 3 {
		t.Errorf("the first trial: %+v", first)
	}
	var total int64
	for _, pair := range first.Histograms[0].Counts {
		total += pair[1]
	}
	if first.Histograms[0].Series != result.TagLatency || total != packets || first.Latency.Count != packets {
		t.Errorf("its latencies: %d of %s", total, first.Histograms[0].Series)
	}
}

// With blocks, the document has the series of a trial block by block; those without them stay whole.
func TestJSONDocumentInBlocks(t *testing.T) {
	r := fixture(t)
	var out bytes.Buffer
	if err := WriteJSON(&out, r, r.Summary.Trials, true, nil); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Trials []evidence }
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	var counts []int
	for _, trial := range doc.Trials {
		counts = append(counts, len(trial.Histograms))
	}
	if !cmp.Equal(counts, []int{5, 5, 3, 3}) || doc.Trials[0].Histograms[2].LengthS != 0.5 || len(doc.Trials[0].Histograms[1].Counts) != 0 {
		t.Errorf("histograms of the trials: %v, %+v", counts, doc.Trials[0].Histograms[1])
	}
}

func TestSelect(t *testing.T) {
	r := fixture(t)
	for _, test := range []struct{ ids, want, err string }{
		{"", "0001 0002 0003 0004", ""}, {"0003 2", "0002 0003", ""}, {"2 0002", "0002", ""}, {"9", "", `trial "9" does not exist; the result has 0001, 0002, 0003, 0004`},
		{"../0001", "", "does not exist"},
	} {
		selected, err := Select(r, strings.Fields(test.ids))
		var got []string
		for _, trial := range selected {
			got = append(got, trial.ID)
		}
		if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) || strings.Join(got, " ") != test.want {
			t.Errorf("%q: %q, %v", test.ids, got, err)
		}
	}
}

func TestPackets(t *testing.T) {
	r := fixture(t)
	var out bytes.Buffer
	if err := WritePackets(&out, r, r.Summary.Trials); err == nil || !strings.Contains(err.Error(), "traffic.packets") {
		t.Errorf("without packets: %v", err)
	}
	put := func(id, text string) {
		if err := os.WriteFile(filepath.Join(r.Dir, "trials", id, result.PacketsFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("0002", "PAR1 of the second")
	if err := WritePackets(&out, r, r.Summary.Trials); err != nil || out.String() != "PAR1 of the second" {
		t.Errorf("%q, %v", out.String(), err)
	}
	put("0003", "another")
	if err := WritePackets(&out, r, r.Summary.Trials); err == nil || !strings.Contains(err.Error(), "--trial") {
		t.Errorf("of two trials: %v", err)
	}
	whole := table(t, r)
	at := len(whole.Columns) - 1
	if whole.Columns[at].Name != "packets_file" || whole.Rows[1][at] != "trials/0002/packets.parquet" || whole.Rows[0][at] != nil {
		t.Errorf("the table points to %v", whole.Rows[1][at])
	}
	if err := os.Remove(filepath.Join(r.Dir, "trials", "0003", result.PacketsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(r.Dir, "trials", "0003", result.PacketsFile)); err != nil {
		t.Fatal(err)
	}
	if err := WritePackets(&out, r, r.Summary.Trials[2:3]); err == nil || !strings.Contains(err.Error(), "not a plain file") {
		t.Errorf("a link out of the result: %v", err)
	}
}
