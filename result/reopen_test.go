package result

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAReopenedResultGoesOn adds to a result whose writer is gone.
func TestAReopenedResultGoesOn(t *testing.T) {
	root := t.TempDir()
	first := writeAll(t, root)
	if _, err := first.AddMaximum(record(4, 300)); err != nil {
		t.Fatal(err)
	}
	search, err := first.AddSearch(Search{Method: "tst009", Repeat: 1, Conformant: true, Trials: []SearchTrial{{ID: "0001"}}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(filepath.Join(root, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Summary(), again.Summary()); diff != "" {
		t.Errorf("the summary differs:\n%s", diff)
	}
	if diff := cmp.Diff([]Search{search}, again.Searches()); diff != "" {
		t.Errorf("the searches differ:\n%s", diff)
	}
	if len(again.Maxima()) != 1 || len(again.Baselines()) != 2 {
		t.Errorf("%d maxima and %d baselines, want 1 and 2", len(again.Maxima()), len(again.Baselines()))
	}
	trial, err := again.AddTrial(record(9, 10))
	if err != nil || trial.ID != "0004" {
		t.Fatalf("the next trial is %q (%v), want 0004", trial.ID, err)
	}
	if again.SearchID() != "0002" {
		t.Errorf("the next search is %s", again.SearchID())
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	whole := mustOpen(t, filepath.Join(root, "latest"))
	if len(whole.Summary.Trials) != 4 || len(whole.Searches) != 1 || len(whole.Problems) > 0 {
		t.Errorf("%d trials, %d searches, problems %q", len(whole.Summary.Trials), len(whole.Searches), whole.Problems)
	}
	if h, err := again.TrialFolder("0002").Histograms(); err != nil || h.Latency.Count() != 1500 {
		t.Errorf("the old trial's histograms: %v", err)
	}
}

func TestPlansAreCompared(t *testing.T) {
	w := writeAll(t, t.TempDir())
	for name, want := range map[string]bool{"quick start": true, "other": false} {
		if same, err := w.SamePlans(map[string]any{"name": name}); err != nil || same != want {
			t.Errorf("SamePlans(%s) = %v, %v", name, same, err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), PlanFile), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SamePlans(nil); err == nil || !strings.Contains(err.Error(), "plan.json:1 is damaged") {
		t.Errorf("SamePlans of a damaged file = %v", err)
	}
}

func TestReopenRefuses(t *testing.T) {
	if _, err := Reopen(t.TempDir()); err == nil {
		t.Error("a folder that is no result was reopened")
	}
	w := mustCreate(t, t.TempDir())
	text := `{"schema":"nines/result/v1","rules":` + strconv.Itoa(Rules) + `,"name":"x","started":"2026-11-20T18:30:05Z","trials":[{"id":"0007"}]}`
	if err := os.WriteFile(filepath.Join(w.Dir(), SummaryFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Reopen(w.Dir()); err == nil || !strings.Contains(err.Error(), `"0007"`) {
		t.Errorf("Reopen = %v, want the ID named", err)
	}
}

// TestReopenRefusesWhatIsBeingWritten keeps two runs out of the same folder, and allows the second
// after the first has died.
func TestReopenRefusesWhatIsBeingWritten(t *testing.T) {
	w, err := Create(t.TempDir(), "lab", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	inUse := new(InUseError)
	if _, err := Reopen(w.Dir()); !errors.As(err, &inUse) {
		t.Fatalf("beside a writer: %v", err)
	}
	// The kernel does this to the files of a process that dies.
	if err := w.folder.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(w.Dir())
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	if _, err := Reopen(w.Dir()); !errors.As(err, &inUse) {
		t.Fatalf("beside one that goes on: %v", err)
	}
	if err := again.Discard(); err != nil {
		t.Fatal(err)
	}
}
