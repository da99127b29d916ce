package export

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestTheDocumentIsWholeOrRefused: an empty experiment would say that there was none.
func TestTheDocumentIsWholeOrRefused(t *testing.T) {
	dir := filepath.Join(labtest.OpenFolder(t), "result")
	if err := os.Rename(fixture(t).Dir, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, result.ExperimentFile), 0o600); err != nil {
		t.Fatal(err)
	}
	labtest.AsAnother(t, func() {
		r, err := result.Open(dir)
		if err != nil {
			t.Error(err)
			return
		}
		if err := WriteJSON(io.Discard, r, r.Summary.Trials, false, nil); exit.Code(err) != exit.Lacks {
			t.Errorf("someone else's experiment: %v", err)
		}
		if _, problems := NewTable(r, r.Summary.Trials, nil); len(problems) > 0 {
			t.Errorf("a table shows no experiment: %q", problems)
		}
	})
}
