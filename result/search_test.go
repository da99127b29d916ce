package result

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func number(v float64) *float64 { return &v }

// searched adds a search of two trials.
func searched(t *testing.T, w *Writer) Search {
	t.Helper()
	s := Search{
		Variables: map[string]any{"links.*.kind": "veth"}, Repeat: 1, Method: "mlrsearch",
		Deviations: []string{"quick"}, MeasuringNs: 2e9,
		Findings: []Finding{
			{Name: "NDR", Unit: "packets/s", Value: number(812_000), Low: number(812_000), High: number(816_000), Trial: "0001"},
			{Name: "PDR", Unit: "packets/s", Reason: "no rate lost less than 0.5 %"},
		},
	}
	for i := range 2 {
		r := record(int64(i), 100)
		r.Trial.Search, r.Trial.Purpose = w.SearchID(), "search"
		r.Details.IntendedPackets, r.Details.ElapsedNs = 100, 1e9
		trial := mustAdd(t, w, r)
		s.Trials = append(s.Trials, SearchTrial{ID: trial.ID, Purpose: trial.Purpose, RatePPS: 812_000, DurationNs: 1e9})
	}
	added, err := w.AddSearch(s)
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func TestSearchesAreGivenBack(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	first := searched(t, w)
	if first.ID != "0001" || w.SearchID() != "0002" {
		t.Errorf("the first search is %s and the next %s", first.ID, w.SearchID())
	}
	done := mustOpen(t, w.Dir())
	if len(done.Problems) > 0 {
		t.Errorf("problems: %q", done.Problems)
	}
	if diff := cmp.Diff([]Search{first}, done.Searches); diff != "" {
		t.Errorf("searches (-want +got):\n%s", diff)
	}
	if trial := done.Summary.Trials[1]; trial.Search != "0001" || trial.Purpose != "search" {
		t.Errorf("the trial says search %q, purpose %q", trial.Search, trial.Purpose)
	}
	details, err := done.TrialFolder("0002").Details()
	if err != nil || details.IntendedPackets != 100 || details.ElapsedNs != 1e9 {
		t.Errorf("details %+v (%v)", details, err)
	}
}

func TestASearchThatCannotBeKept(t *testing.T) {
	for name, test := range map[string]struct {
		search Search
		says   string
	}{
		"an unknown trial":    {Search{Trials: []SearchTrial{{ID: "0009"}}}, `"0009" is not in the summary`},
		"a finding's trial":   {Search{Findings: []Finding{{Name: "NDR", Value: number(1), Trial: "../x"}}}, `"../x" of its finding "NDR"`},
		"not a number":        {Search{Findings: []Finding{{Name: "NDR", Value: number(math.NaN())}}}, "not a number"},
		"infinite":            {Search{Findings: []Finding{{Name: "NDR", Value: number(1), High: number(math.Inf(1))}}}, "not a number"},
		"neither":             {Search{Findings: []Finding{{Name: "NDR"}}}, "neither a value nor a reason"},
		"deviates of nothing": {Search{}, "does not say why"},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustCreate(t, t.TempDir())
			test.search.Method, test.search.Repeat = "rfc2544", 1
			if _, err := w.AddSearch(test.search); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("AddSearch = %v, want %q", err, test.says)
			}
			if _, err := os.Stat(filepath.Join(w.Dir(), SearchesFile)); !os.IsNotExist(err) {
				t.Errorf("the file is there: %v", err)
			}
		})
	}
}

// A file may come from anyone: anything strange is reported, and the rest kept.
func TestHostileSearches(t *testing.T) {
	for name, test := range map[string]struct {
		file, says string
		kept       int
	}{
		"an ID that climbs": {`[{"id":"../../x","repeat":1,"method":"m","conformant":true}]`, `the ID "../../x"`, 0},
		"the same ID twice": {`[{"id":"1","repeat":1,"method":"m","conformant":true},{"id":"1"}]`, `two searches have the ID "1"`, 1},
		"unknown trials":    {`[{"id":"1","repeat":1,"method":"m","conformant":true,"trials":[{"id":"7"}]}]`, `trial "7" is not in the summary`, 1},
		"null lists":        {`[{"id":"1","repeat":1,"method":"m","deviations":null,"findings":null,"trials":null}]`, "does not say why", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := mustCreate(t, t.TempDir())
			text := `{"schema":"nines/searches/v1","searches":` + test.file + `}`
			if err := os.WriteFile(filepath.Join(w.Dir(), SearchesFile), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			done := mustOpen(t, w.Dir())
			if said := strings.Join(done.Problems, "\n"); !strings.Contains(said, test.says) {
				t.Errorf("problems: %s; want %q", said, test.says)
			}
			if len(done.Searches) != test.kept {
				t.Errorf("kept %d searches, want %d", len(done.Searches), test.kept)
			}
			for _, s := range done.Searches {
				if s.Findings == nil || s.Trials == nil || s.Deviations == nil {
					t.Errorf("%+v has a nil list", s)
				}
			}
		})
	}
	for _, text := range []string{`{"schema":"nines/searches/v2"}`, `{"schema":"nines/searches/v1","searches":[{"repeat":"x"}]}`, `[`} {
		w := mustCreate(t, t.TempDir())
		if err := os.WriteFile(filepath.Join(w.Dir(), SearchesFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(w.Dir()); err == nil || !strings.Contains(err.Error(), SearchesFile) {
			t.Errorf("Open with %s = %v", text, err)
		}
	}
}

// FuzzSearches: for any file content, reading it returns an error or lists.
func FuzzSearches(f *testing.F) {
	f.Add([]byte(`{"schema":"nines/searches/v1","searches":[{"id":"0001","repeat":1,"method":"soak","findings":[{"name":"NDR","value":1e308}]}]}`))
	f.Add([]byte(`{"schema":"nines/searches/v1","searches":[{"id":"..","trials":[{}]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte(`{"schema":"nines/result/v1"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, SearchesFile), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil {
			return
		}
		for _, s := range r.Searches {
			if !safeID(s.ID) || s.Findings == nil || s.Trials == nil || s.Deviations == nil {
				t.Errorf("kept %+v", s)
			}
		}
	})
}
