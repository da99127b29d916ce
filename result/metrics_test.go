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
	with, err := w.AddTrial(r)
	if err != nil {
		t.Fatal(err)
	}
	without, err := w.AddTrial(record(2, 100))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := opened.TrialFolder(with.ID).Metrics()
	if err != nil || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	if got.Schema != MetricsSchema || !reflect.DeepEqual(got, r.Metrics) {
		t.Errorf("read %+v, wrote %+v", got, r.Metrics)
	}
	if got, err := opened.TrialFolder(without.ID).Metrics(); got != nil || err != nil {
		t.Errorf("of a trial without metrics: %v, %v", got, err)
	}

	path := filepath.Join(w.Dir(), "trials", with.ID, MetricsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), `"loss_runs": null`) {
		t.Error("an empty list is null")
	}
	if err := os.WriteFile(path, []byte(`{"schema":"nines/metrics/v9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.TrialFolder(with.ID).Metrics(); err == nil || !strings.Contains(err.Error(), "nines/metrics/v9") {
		t.Errorf("another schema: %v", err)
	}
}
