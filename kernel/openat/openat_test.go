package openat

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRenamesElsewhereDoNotFailIt: while files are renamed elsewhere, the kernel refuses paths with a "..".
func TestRenamesElsewhereDoNotFailIt(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	one, other := filepath.Join(elsewhere, "one"), filepath.Join(elsewhere, "other")
	if err := os.Mkdir(one, 0o700); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := os.Rename(one, other); err != nil {
				stopped <- err
				return
			}
			one, other = other, one
		}
	}()
	top, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(top) }()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	refused := 0
	for tried := 0; tried < 300000 && refused < 20; tried++ {
		const path = "/a/b/../../a/b"
		if fd, err := unix.Openat2(top, path, &how); err == nil {
			_ = unix.Close(fd)
		} else {
			refused++
		}
		fd, err := Open(top, path, unix.OpenHow{Flags: unix.O_PATH, Resolve: unix.RESOLVE_IN_ROOT})
		if err != nil {
			t.Fatalf("open %s: %v", path, err)
		}
		_ = unix.Close(fd)
	}
	t.Logf("the kernel itself refused it %d times", refused)
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}
