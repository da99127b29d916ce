package labtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// FullDisk is a folder on a disk of its own, which has some pages of memory; fill takes the rest of them.
func FullDisk(t testing.TB, pages int) (dir string, fill func()) {
	t.Helper()
	Require(t, "root", os.Geteuid() == 0)
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", pages*os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func() {
		t.Helper()
		err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, (pages+1)*os.Getpagesize()), 0o600)
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
	}
}

// There reports whether there is something at a path, also a link that leads nowhere.
func There(t testing.TB, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		t.Fatal(err)
	}
	return err == nil
}

// WithoutFiles calls f while this process can open no file, as if there were too many open ones. Nothing
// else of the test may run meanwhile.
func WithoutFiles(t testing.TB, f func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}
