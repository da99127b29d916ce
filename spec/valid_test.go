package spec

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func files(t testing.TB, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no files match %s (%v)", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// Each valid file is accepted, and keeps its meaning when it is written and read again.
func TestValidFiles(t *testing.T) {
	for _, path := range files(t, "testdata/valid/*.yaml", "../examples/*.yaml", "../examples/*/*.yaml", "../examples/*/quick/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			runs, err := mustLoad(t, string(read(t, path))).Runs()
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range runs {
				for _, e := range run.written() {
					rereads(t, e)
				}
			}
		})
	}
}

// written are the experiments of a run that a file can have: the sides of a duet, each alone.
func (r Run) written() []*Experiment {
	if r.sides != nil {
		return r.sides
	}
	return []*Experiment{r.Experiment}
}

// rereads checks that an experiment written out is read as the same experiment.
func rereads(t *testing.T, e *Experiment) {
	t.Helper()
	text, err := marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Load("again.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := f.Experiment()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(e, again, cmpEmpty); diff != "" {
		t.Errorf("reading what was written differs (-first +again):\n%s", diff)
	}
}

// cmpEmpty treats an empty list or mapping like an absent one.
var cmpEmpty = cmp.FilterPath(func(p cmp.Path) bool {
	switch p.Last().Type().Kind().String() {
	case "slice", "map":
		return true
	}
	return false
}, cmp.FilterValues(emptyBoth, cmp.Ignore()))

func emptyBoth(a, b any) bool { return lengthOf(a) == 0 && lengthOf(b) == 0 }

// marshal writes an experiment, with its defaults, as a file that Load reads.
func marshal(e *Experiment) ([]byte, error) { return yaml.Dump(e, yaml.WithIndent(2)) }
