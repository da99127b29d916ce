package labtest

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// AsAnother calls f on a thread with the files of someone else, who is neither their owner nor root. What f opens must
// be in a folder that everyone may enter: t.TempDir() is not.
func AsAnother(t testing.TB, f func()) {
	t.Helper()
	Require(t, "root", os.Geteuid() == 0)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// credentials(7): with the file system's user, its capabilities go, too.
	if _, err := unix.SetfsuidRetUid(65534); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unix.SetfsuidRetUid(0) }()
	f()
}

// OpenFolder is a folder for the time of the test that everyone may enter.
func OpenFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "nines-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
