package labtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Nines builds the command nines, with build tags, and gives its path. Each package has its
// own below build/tests, where the next test that builds it finds it up to date.
func Nines(t testing.TB, tags ...string) string {
	t.Helper()
	path := filepath.Join(Repository(), "build", "tests", "programs", strings.Join(append([]string{packageName()}, tags...), "+"), "nines")
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", strings.Join(tags, ","), "-o", path, "./cmd/nines")
	build.Dir = Repository()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nines: %v: %s", err, out)
	}
	return path
}
