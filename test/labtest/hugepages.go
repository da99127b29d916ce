package labtest

import (
	"os"
	"sync"
	"syscall"
	"testing"
)

// pages is this process's right to reserve hugepages, or to count them.
var pages struct {
	sync.Mutex
	tests int
	file  *os.File
}

// stepBack gives the hugepages to others while this process waits for its turn, and returns how
// it takes them again.
func stepBack(t testing.TB) (again func()) {
	t.Helper()
	pages.Lock()
	if pages.tests == 0 {
		return pages.Unlock
	}
	_ = syscall.Flock(int(pages.file.Fd()), syscall.LOCK_UN)
	return func() {
		defer pages.Unlock()
		lock(t, pages.file, syscall.LOCK_EX)
	}
}

// Hugepages is for tests that reserve hugepages or count the host's: one package at a time
// has them. It comes after Root, whose turn a test waits for first.
func Hugepages(t testing.TB) {
	t.Helper()
	pages.Lock()
	defer pages.Unlock()
	if pages.tests == 0 {
		pages.file = lockFile(t, "hugepages")
		lock(t, pages.file, syscall.LOCK_EX)
	}
	pages.tests++
	t.Cleanup(func() {
		pages.Lock()
		defer pages.Unlock()
		if pages.tests--; pages.tests == 0 {
			_ = pages.file.Close()
		}
	})
}
