package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/test/labtest"
)

// TestAnImmutableJournalIsToldAsSuch, and not as a lack of root; once it can be changed the lab goes down.
func TestAnImmutableJournalIsToldAsSuch(t *testing.T) {
	s := newShell(t)
	if code, said := s.call("up", s.file("immutable", "1s")); code != exit.Done {
		t.Fatalf("up = %d, %s", code, said)
	}
	defer func() {
		if code, said := s.call("down", "immutable"); code != exit.Done {
			t.Errorf("down = %d, %s", code, said)
		}
	}()
	file, err := os.Open(filepath.Join(state.Root(), "labs", "immutable", "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const immutable = 0x10 // FS_IMMUTABLE_FL in include/uapi/linux/fs.h
	err = unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, immutable)
	labtest.Require(t, "a folder of labs on a file system with flags of files", !errors.Is(err, unix.ENOTTY) && !errors.Is(err, unix.EOPNOTSUPP))
	if err != nil {
		t.Fatal(err)
	}
	code, said := s.call("down", "immutable")
	if err := unix.IoctlSetPointerInt(int(file.Fd()), unix.FS_IOC_SETFLAGS, 0); err != nil {
		t.Fatal(err)
	}
	if code != exit.Failed || !strings.Contains(said, file.Name()+" is immutable") || strings.Contains(said, "sudo") {
		t.Errorf("down = %d, %s", code, said)
	}
}
