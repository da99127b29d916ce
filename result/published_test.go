package result

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMaximaAndPublishedAreGivenBack(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	if !w.Empty() {
		t.Error("a new result is not empty")
	}
	most := record(4, 300)
	maximum, err := w.AddMaximum(most)
	if err != nil {
		t.Fatal(err)
	}
	if w.Empty() {
		t.Error("a result with a maximum is empty")
	}
	of := record(5, 100)
	of.Details.Maximum = &Share{ID: maximum.ID, ReceivedPPS: 2e6, Fraction: 0.1}
	mustAdd(t, w, of)
	published := []Published{{Source: "a paper, table 1", Figure: FigureMaximum, Series: "veth", Points: [][2]float64{{0, 227_000}}}}
	if err := w.WritePublished(published); err != nil {
		t.Fatal(err)
	}
	done := mustOpen(t, w.Dir())
	if len(done.Problems) > 0 {
		t.Errorf("problems: %q", done.Problems)
	}
	if diff := cmp.Diff([]Trial{maximum}, done.Maxima); diff != "" {
		t.Errorf("maxima (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(published, done.Published); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	h, err := done.MaximumFolder(maximum.ID).Histograms()
	if err != nil || h.Latency.Count() != 300 {
		t.Errorf("the maximum's histograms: %v", err)
	}
	details, err := done.TrialFolder("0001").Details()
	if err != nil || details.Maximum == nil || *details.Maximum != *of.Details.Maximum {
		t.Errorf("the trial's details are %+v (%v)", details.Maximum, err)
	}
}

func TestSkippedAreKeptOnce(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	for _, kind := range []any{"vpp", "snabb", "vpp"} {
		if err := w.Skip(Skipped{Variables: map[string]any{"links.*.kind": kind}, Reason: "not installed"}); err != nil {
			t.Fatal(err)
		}
	}
	done := mustOpen(t, w.Dir())
	if skipped := done.Summary.Skipped; len(skipped) != 2 || skipped[1].Variables["links.*.kind"] != "snabb" {
		t.Errorf("skipped %+v, want vpp and snabb", skipped)
	}
}

func TestWhatCannotBeDrawnIsPassedOver(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	file := `{"schema":"nines/published/v1","published":[
		{"source":"s","figure":"size","series":"good","points":[[64,5e6],[-1,2]]},
		{"source":"s","figure":"bars","series":"strange","points":[[0,1]]}]}`
	if err := os.WriteFile(filepath.Join(w.Dir(), PublishedFile), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	done := mustOpen(t, w.Dir())
	if len(done.Published) != 1 || len(done.Published[0].Points) != 1 {
		t.Errorf("kept %+v", done.Published)
	}
	if said := strings.Join(done.Problems, "\n"); !strings.Contains(said, `"bars"`) || !strings.Contains(said, "negative") {
		t.Errorf("problems: %s", said)
	}
	if err := os.WriteFile(filepath.Join(w.Dir(), PublishedFile), []byte(`{"schema":"other"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(w.Dir()); err == nil {
		t.Error("a file of another schema was read")
	}
}

// TestPublishedCurvesHaveALimit: each is compared with every series of the result.
func TestPublishedCurvesHaveALimit(t *testing.T) {
	many := make([]Published, maxPublished+1)
	for i := range many {
		many[i] = Published{Source: "s", Figure: FigureRate, Series: fmt.Sprint(i), Points: [][2]float64{{1, 1}}}
	}
	var r Result
	if r.keepPublished(many); len(r.Published) != maxPublished || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "of its 1001 curves the first 1000 are read") {
		t.Errorf("%d curves, problems %q", len(r.Published), r.Problems)
	}
}
