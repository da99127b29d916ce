package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labtest"
)

// full is the journal's error for a full disk.
func full(path string) error {
	return fmt.Errorf("not making it: %w", errors.Join(&fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}))
}

// TestAFullDiskHidesNoFailedUndo: if a full disk stops a lab, and the undo fails too, the error
// names both, and what to do about each.
func TestAFullDiskHidesNoFailedUndo(t *testing.T) {
	labtest.Guarantee(t)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	h := &holding{state: state.Of("tbboth")}
	// A folder cannot be removed as a file.
	if err := os.MkdirAll(filepath.Join(h.state.Settings(), "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	started, err := journal.Create(h.state.Journal(), journal.Header{Lab: "tbboth"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(started.Close(), h.open("tbboth")); err != nil {
		t.Fatal(err)
	}
	err = h.takeBack(context.Background(), "tbboth", full(h.state.Journal()))
	if !errors.As(err, new(*state.WriteError)) {
		t.Errorf("no state.WriteError: %v", err)
	}
	for _, part := range []string{"cannot write " + h.state.Journal(), "free some space there", "and while removing it: ", "nines down tbboth tries again"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}
