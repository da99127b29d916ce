package labtest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"nines.dev/nines/kernel/flock"
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
	lock  *flock.Lock
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
		patient, cancel := context.WithTimeout(context.Background(), namePatience)
		lock, err := flock.Wait(patient, lockPath("lab-"+prefix))
		cancel()
		if err != nil {
			t.Fatalf("another test has the labs whose names begin with %s: %v", prefix, err)
		}
		name = &takenName{lock: lock}
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
			_ = name.lock.Free()
			delete(labs.taken, prefix)
		}
	})
}
