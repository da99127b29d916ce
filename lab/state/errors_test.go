package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullDisk is the journal's error for a full disk.
func fullDisk(path string) error {
	return fmt.Errorf("not making it: %w", errors.Join(&fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}))
}

func TestAFullDiskIsWordedWhereNothingElseIsWrong(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	ours, other := fullDisk(filepath.Join(Root(), "hugepages.json.new")), fullDisk("/elsewhere")
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
		got := Explain(c.err)
		if want := "cannot write " + filepath.Join(Root(), "hugepages.json") + ": "; c.worded != strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("%v became %v", c.err, got)
		}
		if !c.worded && !errors.Is(got, c.err) {
			t.Errorf("%v became %v", c.err, got)
		}
	}
}
