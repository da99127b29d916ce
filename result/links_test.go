package result

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsWrittenThroughLinks continues a result in which someone has left symbolic links
// under the names that nines writes to.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	root := t.TempDir()
	dir := writeAll(t, root).Dir()
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ReportFile, SummaryFile, SummaryCSVFile, BaselinesFile, MaximaFile, SearchesFile, PublishedFile, ExperimentFile, PlanFile, HostFile} {
		if err := os.Symlink(target, filepath.Join(dir, "."+name+".tmp")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(target), filepath.Join(dir, trialsDir, ".0004.tmp")); err != nil {
		t.Fatal(err)
	}
	w, err := Reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, w, record(4, 10))
	_, baseline := w.AddBaseline(After, record(5, 10))
	_, maximum := w.AddMaximum(record(6, 10))
	_, search := w.AddSearch(Search{Method: "tst009", Repeat: 1, Conformant: true, Trials: []SearchTrial{{ID: "0001"}}})
	if err := errors.Join(baseline, maximum, search, w.Resume(testStart),
		w.WriteReport(func(out io.Writer) error { _, err := io.WriteString(out, "page"); return err }),
		w.WriteExperiment([]byte("name: x\n"), ""), w.WritePlan(1), w.WriteHost(1), w.WritePublished(nil), w.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "precious" {
		t.Errorf("the file that links point to holds %q (%v)", text, err)
	}
	if r := mustOpen(t, dir); len(r.Summary.Trials) != 4 || len(r.Problems) > 0 {
		t.Errorf("%d trials, problems %q", len(r.Summary.Trials), r.Problems)
	}
	if text, err := os.ReadFile(filepath.Join(dir, ReportFile)); err != nil || string(text) != "page" {
		t.Errorf("the page holds %q (%v)", text, err)
	}
}

// TestALinkedFolderIsNotContinued: a folder below a result that leads elsewhere is refused before
// anything is removed or written there.
func TestALinkedFolderIsNotContinued(t *testing.T) {
	dir := writeAll(t, t.TempDir()).Dir()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.MkdirAll(filepath.Join(other, "0001"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, maximaDir)); err != nil {
		t.Fatal(err)
	}
	_, err := Reopen(dir)
	if refused := new(OpenError); !errors.As(err, &refused) || !strings.Contains(err.Error(), "maxima is not a folder") {
		t.Errorf("it is continued: %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "0001")); err != nil {
		t.Errorf("the folder elsewhere was changed: %v", err)
	}
}

// TestALinkMadeMeanwhileIsNotFollowed: the folder changes after it was opened.
func TestALinkMadeMeanwhileIsNotFollowed(t *testing.T) {
	w := writeAll(t, t.TempDir())
	w, err := Reopen(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if err := os.Symlink(other, filepath.Join(w.Dir(), maximaDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AddMaximum(record(4, 10)); err == nil {
		t.Error("a maximum was written through a link")
	}
	if entries, err := os.ReadDir(other); err != nil || len(entries) > 0 {
		t.Errorf("the other folder holds %v (%v)", entries, err)
	}
}
