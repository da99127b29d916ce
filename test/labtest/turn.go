package labtest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"nines.dev/nines/kernel/flock"
)

// turn is this process's right to build labs. The tests of two checkouts build labs of
// the same names, whose devices and namespaces would meet on the host, so processes
// take turns, test by test.
var turn struct {
	sync.Mutex
	tests int // that run
	lock  *flock.Lock
}

// takeTurn waits until no other process tests labs, and keeps others waiting until the
// test has ended. A test and its subtests hold one turn. The kernel ends the turn of a
// process that dies.
func takeTurn(t testing.TB) {
	t.Helper()
	turn.Lock()
	defer turn.Unlock()
	if turn.tests == 0 {
		lock, err := flock.Wait(context.Background(), filepath.Join(os.TempDir(), "nines-labtest.lock"))
		if err != nil {
			t.Fatal(err)
		}
		turn.lock = lock
	}
	turn.tests++
	t.Cleanup(func() {
		turn.Lock()
		defer turn.Unlock()
		if turn.tests--; turn.tests == 0 {
			_ = turn.lock.Free()
		}
	})
}
