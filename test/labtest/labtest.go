// Package labtest is what tests on a real host share: what they need, where their
// labs live, and servers and engines of their own. It imports nothing of the project but
// what imports nothing itself, so that every package's tests can use it.
package labtest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Require skips a test that needs a capability the host lacks, and fails it where
// NINES_REQUIRE=all promises that everything is there, as CI does.
func Require(t testing.TB, capability string, there bool) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("NINES_REQUIRE") == "all":
		t.Fatalf("missing: %s", capability)
	default:
		t.Skipf("missing: %s", capability)
	}
}

// Root is for tests that build labs: it wants root and the built programs, and
// gives the test a state folder of its own.
func Root(t testing.TB) {
	t.Helper()
	Require(t, "root", os.Geteuid() == 0)
	if os.Getenv("NINES_LIBEXEC") == "" {
		t.Setenv("NINES_LIBEXEC", filepath.Join(repository(), "bin"))
	}
	for _, program := range []string{"nines-init", "nines-engine"} {
		_, err := os.Stat(filepath.Join(os.Getenv("NINES_LIBEXEC"), program))
		Require(t, program+" (make build)", err == nil)
	}
	takeTurn(t)
	// Not t.TempDir: the path of a control socket must be short.
	dir, err := os.MkdirTemp("/tmp", "nines")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("NINES_STATE_DIR", dir)
}

// PublishedData is the folder with measurements that others have published, which the
// project does not carry: NINES_PUBLISHED_DATA names it. CONTRIBUTING.md says what is in it.
func PublishedData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NINES_PUBLISHED_DATA")
	Require(t, "published measurements (NINES_PUBLISHED_DATA names their folder)", dir != "")
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("NINES_PUBLISHED_DATA: %v", err)
	}
	return dir
}

// repository is the folder above this package's; tests run from the source.
func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
