package labtest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// turn is this process's right to build labs. The tests of two checkouts build labs of
// the same names, whose devices and namespaces would meet on the host, so processes
// take turns, test by test.
var turn struct {
	sync.Mutex
	tests int // that run
	file  *os.File
}

// takeTurn waits until no other process tests labs, and keeps others waiting until the
// test has ended. A test and its subtests hold one turn. The kernel ends the turn of a
// process that dies.
func takeTurn(t testing.TB) {
	t.Helper()
	turn.Lock()
	defer turn.Unlock()
	if turn.tests == 0 {
		file, err := os.OpenFile(filepath.Join(os.TempDir(), "nines-labtest.lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
			err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		}
		if err != nil {
			t.Fatalf("lock %s: %v", file.Name(), err)
		}
		turn.file = file
	}
	turn.tests++
	t.Cleanup(func() {
		turn.Lock()
		defer turn.Unlock()
		if turn.tests--; turn.tests == 0 {
			_ = turn.file.Close()
		}
	})
}
