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
)

// full is the journal's error for a full disk.
func full(path string) error {
	return fmt.Errorf("not making it: %w", errors.Join(&fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}))
}

// TestAFullDiskHidesNoFailedUndo: if a full disk stops a lab, and the undo fails too, the error
// names both, and what to do about each.
func TestAFullDiskHidesNoFailedUndo(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	h := &holding{state: stateOf("tbboth")}
	// A folder cannot be removed as a file.
	if err := os.MkdirAll(filepath.Join(h.state.settings(), "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	started, err := journal.Create(h.state.journal(), journal.Header{Lab: "tbboth"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(started.Close(), h.open("tbboth")); err != nil {
		t.Fatal(err)
	}
	err = h.takeBack(context.Background(), "tbboth", full(h.state.journal()))
	if !errors.As(err, new(*StateError)) {
		t.Errorf("no StateError: %v", err)
	}
	for _, part := range []string{"cannot write " + h.state.journal(), "free some space there", "and while removing it: ", "nines down tbboth tries again"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
}

func TestAFullDiskIsWordedWhereNothingElseIsWrong(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	ours, other := full(filepath.Join(Root(), "hugepages.json.new")), full("/elsewhere")
	wrong := errors.New(`node "b": it failed`)
	for _, c := range []struct {
		err    error
		worded bool
	}{
		{ours, true},
		{errors.Join(ours, ours), true},
		{other, false},
		{wrong, false},
		{errors.Join(ours, wrong), false},
		{fmt.Errorf("make it: %w", errors.Join(wrong, ours)), false},
		{nil, false},
	} {
		got := aboutState(c.err)
		if want := "cannot write " + filepath.Join(Root(), "hugepages.json") + ": "; c.worded != strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("%v became %v", c.err, got)
		}
		if !c.worded && !errors.Is(got, c.err) {
			t.Errorf("%v became %v", c.err, got)
		}
	}
}
