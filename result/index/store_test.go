package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// forEachDatabase runs a test on SQLite, and on its own PostgreSQL.
func forEachDatabase(t *testing.T, test func(t *testing.T, location func(t *testing.T, root string) Location)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(t *testing.T, root string) Location { return locate(t, "", root) })
	})
	t.Run("postgres", func(t *testing.T) {
		server := labtest.Postgres(t)
		t.Setenv("PGPASSWORD", server.Password)
		test(t, func(t *testing.T, root string) Location { return locate(t, server.URL("postgres"), root) })
	})
}

func locate(t *testing.T, said, root string) Location {
	t.Helper()
	location, err := Locate(said, root)
	if err != nil {
		t.Fatal(err)
	}
	return location
}

func open(t *testing.T, location Location, root string) *Index {
	t.Helper()
	x, err := Open(t.Context(), location, root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func refresh(t *testing.T, x *Index) Refreshed {
	t.Helper()
	done, err := x.Refresh(t.Context(), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func list(t *testing.T, x *Index, filter Filter) []string {
	t.Helper()
	listed, err := x.List(t.Context(), filter)
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{}
	for _, l := range listed {
		folders = append(folders, l.Folder)
	}
	return folders
}

var started = time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)

// writeResult writes a result with a trial for each kind of link; the latencies are made up: packet
// i of trial n took (n·5000 + i) ns.
func writeResult(t testing.TB, root, name string, when time.Time, kinds ...string) *result.Writer {
	t.Helper()
	w, err := result.Create(root, name, when)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteHost(map[string]any{"hostname": "lab1", "kernel": map[string]any{"release": "6.18.44"},
		"cpus": []any{map[string]any{"model": "a CPU"}, map[string]any{}}, "memory_bytes": 1 << 34}); err != nil {
		t.Fatal(err)
	}
	for i, kind := range kinds {
		addTrial(t, w, i+1, map[string]any{"links.*.kind": kind, "traffic.rate_pps": 1000 * (i + 1)}, "")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

const packets = 1000

func addTrial(t testing.TB, w *result.Writer, n int, variables map[string]any, search string) result.Trial {
	t.Helper()
	r := result.Record{
		Trial: result.Trial{Variables: variables, Repeat: 1, OfferedPPS: 1000, TxPackets: packets + 10, RxPackets: packets, LostPackets: 10,
			Verdict: result.Clean, Search: search},
		Details: result.Details{Role: "loop", IntendedPPS: 1010, DurationNs: 1e9, StartedUnixNs: started.UnixNano(), FrameBytes: 64,
			Gaps: []result.GapMeter{{MaxNs: 7}, {MaxNs: 9}}, StealNs: 11},
		Histograms: result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()},
	}
	if n%2 == 0 {
		r.Trial.Verdict, r.Trial.Reasons = result.Noisy, []string{"the hypervisor took 11 ns"}
	}
	for i := range packets {
		r.Histograms.Latency.Record(int64(n*5000 + i))
		r.Histograms.FromTx.Record(int64(n*5000 + i))
		r.Histograms.SendLag.Record(0)
	}
	trial, err := w.AddTrial(r)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

// addSearch adds a search with one trial and two findings.
func addSearch(t testing.TB, w *result.Writer) {
	t.Helper()
	variables := map[string]any{"links.*.kind": "xdp"}
	trial := addTrial(t, w, 1, variables, w.SearchID())
	value, low := 812000.0, 810000.0
	if _, err := w.AddSearch(result.Search{Variables: variables, Repeat: 1, Method: "mlrsearch", Deviations: []string{"quick"}, MeasuringNs: 2e9,
		Findings: []result.Finding{
			{Name: "NDR", Unit: "packets/s", Value: &value, Low: &low, Trial: trial.ID, Conditions: map[string]any{"frame_bytes": 64}},
			{Name: "PDR", Unit: "packets/s", Reason: "none was found"},
		},
		Trials: []result.SearchTrial{{ID: trial.ID, Purpose: "search", RatePPS: 812000, DurationNs: 1e9}}}); err != nil {
		t.Fatal(err)
	}
}

// collected is the result of a query.
type collected struct {
	columns []string
	rows    [][]any
}

func (c *collected) Columns(names []string) error { c.columns = names; return nil }
func (c *collected) Row(values []any) error       { c.rows = append(c.rows, values); return nil }

func ask(t *testing.T, x *Index, statement string) *collected {
	t.Helper()
	var answer collected
	if err := x.Query(t.Context(), statement, time.Minute, &answer); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return &answer
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func said(rows [][]any) string { return fmt.Sprint(rows) }
