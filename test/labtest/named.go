package labtest

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// namePatience is longer than any test has a lab. It ends, as who has the name may wait for what the test
// has that asks for it: the hugepages, or not to be alone.
const namePatience = 15 * time.Minute

// labs are the names of labs that this process has taken.
var labs struct {
	sync.Mutex
	taken map[string]*takenName
}

type takenName struct {
	tests int
	file  *os.File
}

// Named is for a test that builds a lab whose interfaces begin with a prefix, as those of a test in another
// process may do: the other part of the package, or another checkout. It waits until no other test
// has it, and holds it until this one has ended.
func Named(t testing.TB, prefix string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return // it builds none
	}
	labs.Lock()
	defer labs.Unlock()
	name := labs.taken[prefix]
	if name == nil {
		name = &takenName{file: lockFile(t, "lab-"+prefix)}
		waitFor(t, name.file, prefix)
		if labs.taken == nil {
			labs.taken = map[string]*takenName{}
		}
		labs.taken[prefix] = name
	}
	name.tests++
	t.Cleanup(func() {
		labs.Lock()
		defer labs.Unlock()
		if name.tests--; name.tests == 0 {
			_ = name.file.Close()
			delete(labs.taken, prefix)
		}
	})
}

func waitFor(t testing.TB, file *os.File, prefix string) {
	t.Helper()
	for end := time.Now().Add(namePatience); ; time.Sleep(20 * time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			t.Fatalf("another test has the labs whose names begin with %s: %v", prefix, err)
		}
	}
}
