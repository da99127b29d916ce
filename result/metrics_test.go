package result

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestMetricsAreReadAsTheyWereWritten(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	latency := r.Histograms.Latency.Percentiles()
	r.Metrics = &Metrics{
		All: FlowMetrics{Sent: 102, Received: 100, Lost: 2, Latency: latency, LossRuns: []LossRun{{Length: 2, Count: 1}},
			IPDVRange: [2]int64{-7, 9}, Reordering: Reordering{Reordered: 3, Ratio: 0.03, ExtentMax: 4, LateMaxNs: 900}},
		Flows: []FlowMetrics{{Flow: "source port 7999", Sent: 102, Received: 100, Lost: 2, Latency: latency}},
	}
	keptAsWritten(t, w, r, MetricsFile, Folder.Metrics, r.Metrics, MetricsSchema, "loss_runs")
}

// keptAsWritten checks an optional JSON file of a trial: it is read as written, is nil for a trial
// without it, has [] for the empty list, and is refused with another schema.
func keptAsWritten[T any](t *testing.T, w *Writer, r Record, file string, read func(Folder) (*T, error), want *T, schema, list string) {
	t.Helper()
	with, without := mustAdd(t, w, r), mustAdd(t, w, record(2, 100))
	opened := mustOpen(t, w.Dir())
	got, err := read(opened.TrialFolder(with.ID))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v, wrote %+v", got, err, want)
	}
	if got, err := read(opened.TrialFolder(without.ID)); got != nil || err != nil {
		t.Errorf("of a trial without %s: %v, %v", file, got, err)
	}

	path := filepath.Join(w.Dir(), "trials", with.ID, file)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"schema": "`+schema+`"`) || strings.Contains(string(raw), `"`+list+`": null`) {
		t.Errorf("without the schema %s, or with null for an empty list:\n%s", schema, raw)
	}
	other := strings.Replace(schema, "/v1", "/v9", 1)
	if err := os.WriteFile(path, []byte(`{"schema":"`+other+`"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := read(opened.TrialFolder(with.ID)); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("another schema: %v", err)
	}
}
