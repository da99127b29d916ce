// Package labtest is what tests on a real host share: what they need, where their
// labs live, and servers and engines of their own. It imports nothing of the project but
// what imports nothing itself, so that every package's tests can use it.
package labtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Require skips a test that needs a capability the host lacks, and fails it where
// NINES_REQUIRE=all promises that everything is there, as CI does.
func Require(t testing.TB, capability string, there bool) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("NINES_REQUIRE") == "all":
		t.Fatal(forWantOf + capability)
	default:
		t.Skip(forWantOf + capability)
	}
}

// Root is for tests that build labs: it wants root and the built programs, and
// gives the test a state folder of its own.
func Root(t testing.TB) {
	t.Helper()
	Require(t, "root", os.Geteuid() == 0)
	if os.Getenv("NINES_LIBEXEC") == "" {
		t.Setenv("NINES_LIBEXEC", filepath.Join(Repository(), "bin"))
	}
	t.Setenv("NINES_STATE_DIR", StateFolder(t))
}

// Experiment is Root for a test that runs experiments, or calls nines again and again, which takes several times as long
// as a lab: test/passes begins with the packages of such tests.
func Experiment(t testing.TB) {
	t.Helper()
	Require(t, WholeExperiment, os.Geteuid() == 0)
	Root(t)
}

// Machine is Root for a test with a virtual machine, which takes as long.
func Machine(t testing.TB) {
	t.Helper()
	Require(t, VirtualMachine, os.Geteuid() == 0)
	Root(t)
}

// StateFolder is Root for a test beside others of its process, which have one environment: the state folder is
// for the programs that the test calls.
func StateFolder(t testing.TB) string {
	t.Helper()
	Require(t, "root", os.Geteuid() == 0)
	libexec := os.Getenv("NINES_LIBEXEC")
	if libexec == "" {
		libexec = filepath.Join(Repository(), "bin")
	}
	for _, program := range []string{"nines-init", "nines-engine"} {
		_, err := os.Stat(filepath.Join(libexec, program))
		Require(t, program+" (make build)", err == nil)
	}
	takeTurn(t, beside)
	// Not t.TempDir: the path of a control socket must be short.
	dir, err := os.MkdirTemp("/tmp", "nines")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
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

// started is the folder that the process was started in: Go runs a package's tests in
// the package's own.
var started, _ = os.Getwd()

// Repository is the folder above that with the whole project, in which hack/go is. The path of this
// file is not asked for it, as programs are built without the paths of the machine (-trimpath).
func Repository() string { return folderWith(filepath.Join("hack", "go")) }

// Module is the folder of the test's Go module: the repository, or one below it.
func Module() string { return folderWith("go.mod") }

// folderWith is the nearest folder with such a file, from the one of the package's tests upwards.
func folderWith(file string) string {
	dir := started
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	return started
}
