package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Go is a command of Go as the makefiles call it, so that what they have compiled is not compiled again.
func Go(arguments ...string) *exec.Cmd {
	return exec.Command(filepath.Join(Repository(), "hack", "go"), arguments...)
}

// programs are the builds of nines that this process has asked for, by their paths.
var programs sync.Map

// Nines builds the command nines, with build tags, and gives its path. Each package has its
// own below build/tests, where the next process that builds it finds it up to date.
func Nines(t testing.TB, tags ...string) string {
	t.Helper()
	path := filepath.Join(Repository(), "build", "tests", "programs", strings.Join(append([]string{packageName()}, tags...), "+"), "nines")
	build, _ := programs.LoadOrStore(path, sync.OnceValue(func() error {
		build := Go("build", "-tags", strings.Join(tags, ","), "-o", path, "./cmd/nines")
		build.Dir = Repository()
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build nines: %w: %s", err, out)
		}
		return nil
	}))
	if err := build.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Sh runs a command on the host that must succeed.
func Sh(t testing.TB, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", argv, err, out)
	}
	return string(out)
}

// Attack builds the program attack (test/attack), static, and gives its path. A node mounts it.
func Attack(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "attack")
	build := Go("build", "-o", path, "./test/attack")
	build.Dir, build.Env = Repository(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build attack: %v: %s", err, out)
	}
	return path
}
