package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/test/golden"
)

// readRuns loads a file under its base name, so that the errors are the same
// wherever the tests run.
func readRuns(t *testing.T, path string) ([]Run, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Load(filepath.Base(path), data)
	if err != nil {
		return nil, err
	}
	return f.Runs()
}

func files(t *testing.T, patterns ...string) []string {
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

// Each wrong file gives exactly the errors beside it.
func TestInvalidFiles(t *testing.T) {
	for _, path := range files(t, "testdata/invalid/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, err := readRuns(t, path)
			if err == nil {
				t.Fatal("the file was accepted")
			}
			errs, ok := AsErrors(err)
			if !ok || errs.ExitCode() != 2 {
				t.Fatalf("not errors of the file, with exit code 2: %#v", err)
			}
			for _, e := range errs {
				if e.Line < 1 || e.Column < 1 {
					t.Errorf("without a place: %v", e)
				}
			}
			golden.Equal(t, strings.TrimSuffix(path, ".yaml")+".err", err.Error()+"\n")
		})
	}
}

// Each right file is accepted, and what it means survives being written and read.
func TestValidFiles(t *testing.T) {
	for _, path := range files(t, "testdata/valid/*.yaml", "../examples/*.yaml", "../examples/*/*.yaml", "../examples/*/quick/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			runs, err := readRuns(t, path)
			if err != nil {
				t.Fatal(err)
			}
			for _, run := range runs {
				rereads(t, run.Experiment)
			}
		})
	}
}

// rereads holds that an experiment written out is read as the same experiment.
func rereads(t *testing.T, e *Experiment) {
	t.Helper()
	text, err := Marshal(e)
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

// cmpEmpty takes an empty list or mapping for an absent one: both say nothing.
var cmpEmpty = cmp.FilterPath(func(p cmp.Path) bool {
	switch p.Last().Type().Kind().String() {
	case "slice", "map":
		return true
	}
	return false
}, cmp.FilterValues(emptyBoth, cmp.Ignore()))

func emptyBoth(a, b any) bool { return lengthOf(a) == 0 && lengthOf(b) == 0 }
