package image

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestWhatAScriptPutsInPlaceOfFoldersLeadsNowhere: a program of an image replaces /etc by a link out of the
// tree, and the end of the build removes nothing there.
func TestWhatAScriptPutsInPlaceOfFoldersLeadsNowhere(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	b := building{tree: t.TempDir(), epoch: time.Unix(0, 0)}
	undo, err := b.prepare()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	theirs := []string{filepath.Join(elsewhere, "resolv.conf"), filepath.Join(elsewhere, "null")}
	put(t, theirs...)
	for _, folder := range []string{"etc", "dev"} {
		path := filepath.Join(b.tree, folder)
		if err := os.Rename(path, path+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := undo(); err == nil {
		t.Error("the links are not told")
	}
	stay(t, "the end of a build", theirs...)
}

// TestWhatABuildAddsIsRemoved again, also where a program has removed some of it.
func TestWhatABuildAddsIsRemoved(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	b := building{tree: t.TempDir(), epoch: time.Unix(0, 0)}
	undo, err := b.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.tree, "dev/zero")); err != nil {
		t.Fatal(err)
	}
	if err := undo(); err != nil {
		t.Error(err)
	}
	for _, folder := range []string{"dev", "etc"} {
		if left, err := os.ReadDir(filepath.Join(b.tree, folder)); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", folder, left, err)
		}
	}
}

// TestAPipeIsNoFileOfAnImage, and nobody waits for a writer of it.
func TestAPipeIsNoFileOfAnImage(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	tree := building{tree: t.TempDir()}
	for what, read := range map[string]func() error{
		"a file or a script": func() error { _, err := digestOf(pipe); return err },
		"a root file system": func() error { _, err := openRootfs(pipe); return err },
		"a copy":             func() error { return tree.copyFile(pipe, "/etc/motd") },
	} {
		if err := read(); !errors.As(err, new(*notFileError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
