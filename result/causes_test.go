package result

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestCausesAreReadAsTheyWereWritten(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 100)
	lift, hog := 12.5, Cause{Kind: "hog", Name: "make", CPU: 1}
	r.Causes = &Causes{
		Ordinary: 3, Notes: []string{"7 events were lost"},
		Ranking: []RankedCause{{Cause: hog, Packets: 2, Present: 3, TotalNs: 900, Lift: &lift, Sentence: "made", Remedy: "isolate"}},
		Packets: []PacketCauses{{ID: 7, LatencyNs: 300, Phases: []PhaseCauses{
			{Phase: PhaseSend, BeginNs: 10, EndNs: 20, Causes: []CauseShare{{Cause: hog, Ns: 4}}, OrdinaryNs: 1, UnexplainedNs: 5},
			{Phase: PhaseTransit, BeginNs: 20, EndNs: 20},
		}}},
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
	got, err := opened.TrialFolder(with.ID).Causes()
	if err != nil || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	if got.Schema != CausesSchema || !reflect.DeepEqual(got, r.Causes) {
		t.Errorf("read %+v, wrote %+v", got, r.Causes)
	}
	if got, err := opened.TrialFolder(without.ID).Causes(); got != nil || err != nil {
		t.Errorf("of a trial that was not recorded: %v, %v", got, err)
	}

	path := filepath.Join(w.Dir(), "trials", with.ID, CausesFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), `"causes": null`) {
		t.Error("an empty list is null")
	}
	if err := os.WriteFile(path, []byte(`{"schema":"nines/causes/v9"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.TrialFolder(with.ID).Causes(); err == nil || !strings.Contains(err.Error(), "nines/causes/v9") {
		t.Errorf("another schema: %v", err)
	}
}
