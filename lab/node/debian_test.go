package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/vm/guestimage"
)

// TestARootFileSystemIsBuiltInNobodysFolder: what is there under the name of a build stays, and the lab
// that fails over it does not remove it in its undo.
func TestARootFileSystemIsBuiltInNobodysFolder(t *testing.T) {
	cache, programs := t.TempDir(), t.TempDir()
	t.Setenv("NINES_CACHE_DIR", cache)
	t.Setenv("PATH", programs)
	t.Setenv(guestimage.MirrorVariable, "http://mirror.invalid/debian") // or apt would be asked
	if err := os.WriteFile(filepath.Join(programs, "mmdebstrap"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	build := filepath.Join(cache, "debian-bookworm-"+debianArch()+".prefix")
	theirs := filepath.Join(build, "data")
	if err := os.MkdirAll(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{Lab: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	p := Place{Journal: j, StateDir: t.TempDir(), Plan: &plan.Plan{Prefix: "prefix"}, Progress: func(string) {}}
	if _, err := p.debian(context.Background(), spec.Rootfs{Release: "bookworm", Init: spec.InitNines}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), build) {
		t.Errorf("built over it: %v", err)
	}
	if err := j.Undo(context.Background(), nil, nil); err != nil {
		t.Error(err)
	}
	if !labtest.There(t, theirs) {
		t.Error("what was there is gone")
	}
}
