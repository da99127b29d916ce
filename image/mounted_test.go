package image

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWhatCannotBeReadIsNotUnused: without file descriptors nothing is known of the containers, and so no
// image counts as unused.
func TestWhatCannotBeReadIsNotUnused(t *testing.T) {
	if mounts, err := mounted("/proc"); err != nil || !strings.Contains(mounts, " / ") {
		t.Errorf("what is mounted: %.100q, %v", mounts, err)
	}
	next, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0) // the lowest that is free, open(2)
	if err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := errors.Join(unix.Close(next), unix.Getrlimit(unix.RLIMIT_NOFILE, &before)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next), Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	_, err = used()
	if back := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("without file descriptors: %v", err)
	}
}

// TestEveryNamespaceIsRead of a /proc that was made for the test, but those of processes that have ended
// meanwhile.
func TestEveryNamespaceIsRead(t *testing.T) {
	proc := t.TempDir()
	process := func(pid int, namespace string) (mountinfo string) {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.MkdirAll(filepath.Join(dir, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(namespace, filepath.Join(dir, "ns", "mnt")); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "mountinfo")
	}
	for pid, namespace := range map[int]string{1: "mnt:[1]", 2: "mnt:[2]", 3: "mnt:[2]"} {
		if err := os.WriteFile(process(pid, namespace), []byte(namespace+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	process(4, "mnt:[4]") // has ended between the two looks
	if err := os.Mkdir(filepath.Join(proc, "5"), 0o755); err != nil {
		t.Fatal(err)
	}
	if mounts, err := mounted(proc); err != nil || mounts != "mnt:[1]\nmnt:[2]\n" {
		t.Errorf("mounted: %q, %v", mounts, err)
	}
	if err := os.Mkdir(process(6, "mnt:[6]"), 0o755); err != nil {
		t.Fatal(err)
	}
	if mounts, err := mounted(proc); !errors.Is(err, unix.EISDIR) {
		t.Errorf("with one that cannot be read: %q, %v", mounts, err)
	}
}
