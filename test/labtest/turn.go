package labtest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// turn is this process's right to build labs. What a lab has on the host is named after
// the lab, so labs of different names live side by side. Those of one package have the same names
// in each of its processes, also in those of another checkout: such take turns, test by
// test. A large package is tested in parts, which take turns by name (Named). And tests that rearrange a host wait until no other is under way.
var turn struct {
	sync.Mutex
	tests int // that run
	kind  kind
	parts []*os.File // of the package
	all   *os.File
}

// kind is how a turn is taken.
type kind int

const (
	beside kind = syscall.LOCK_SH // labs of other packages
	alone  kind = syscall.LOCK_EX
)

// takeTurn waits for this process's turn, and holds it until the test has ended. A test
// and its subtests hold one turn. The kernel ends the turn of a process that dies.
func takeTurn(t testing.TB, wanted kind) {
	t.Helper()
	turn.Lock()
	defer turn.Unlock()
	if turn.tests == 0 {
		turn.parts = nil
		for _, part := range parts() {
			file := lockFile(t, packageName()+part)
			lock(t, file, syscall.LOCK_EX)
			turn.parts = append(turn.parts, file)
		}
		turn.all, turn.kind = lockFile(t, ""), 0
	}
	turn.tests++
	t.Cleanup(func() {
		turn.Lock()
		defer turn.Unlock()
		if turn.tests--; turn.tests == 0 {
			_ = turn.all.Close()
			for _, file := range turn.parts {
				_ = file.Close()
			}
		}
	})
	if turn.kind == alone || turn.kind == wanted {
		return
	}
	// A process that waits to be alone holds the gate, so that those after it wait, too. One that is
	// beside others steps back first, or two that want to be alone would wait for each other;
	// and from the hugepages, for which others wait in their turn.
	_ = syscall.Flock(int(turn.all.Fd()), syscall.LOCK_UN)
	defer stepBack(t)()
	gate := lockFile(t, "gate")
	defer gate.Close()
	lock(t, gate, syscall.LOCK_EX)
	lock(t, turn.all, int(wanted))
	turn.kind = wanted
}

// parts are those of the package's tests that this process may run, which are all of them unless
// PartVariable names one. A process that takes all takes them in one order.
func parts() []string {
	if part := os.Getenv(PartVariable); part != "" {
		return []string{"-" + part}
	}
	var all []string
	for i := range Parts {
		all = append(all, "-"+strconv.Itoa(i+1))
	}
	return all
}

// packageName is the package's folder below the repository, in which its tests run.
func packageName() string {
	below, err := filepath.Rel(Repository(), started)
	if err != nil {
		below = started
	}
	return strings.ReplaceAll(below, string(filepath.Separator), "-")
}

func lockPath(name string) string {
	path := filepath.Join(os.TempDir(), "nines-labtest.lock")
	if name != "" {
		path += "-" + name
	}
	return path
}

func lockFile(t testing.TB, name string) *os.File {
	t.Helper()
	file, err := os.OpenFile(lockPath(name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func lock(t testing.TB, file *os.File, how int) {
	t.Helper()
	err := error(syscall.EINTR)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Flock(int(file.Fd()), how)
	}
	if err != nil {
		t.Fatalf("lock %s: %v", file.Name(), err)
	}
}
