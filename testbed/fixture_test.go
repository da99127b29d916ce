package testbed

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/host"
	"nines.dev/nines/testbed/plan"
)

// require skips a test that needs what is missing, or fails it where CI promises
// that everything is there.
func require(t testing.TB, capability string, there bool) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("NINES_REQUIRE") == "all":
		t.Fatalf("missing: %s", capability)
	default:
		t.Skipf("missing: %s", capability)
	}
}

// root gives a test a state folder of its own and the programs that were built.
func root(t testing.TB) {
	t.Helper()
	require(t, "root", os.Geteuid() == 0)
	if os.Getenv("NINES_LIBEXEC") == "" {
		bin, err := filepath.Abs("../bin")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NINES_LIBEXEC", bin)
	}
	_, err := os.Stat(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines-init"))
	require(t, "nines-init (make build)", err == nil)
	// Not t.TempDir: its path is too long for a socket.
	dir, err := os.MkdirTemp("/tmp", "nines")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("NINES_STATE_DIR", dir)
}

// planOf plans an experiment for this host.
func planOf(t testing.TB, text string) *plan.Plan {
	t.Helper()
	file, err := spec.Load("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := file.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(experiment, inventory)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// up brings a lab up and takes it down with the test.
func up(t testing.TB, text string) *Lab {
	t.Helper()
	lab, err := Up(context.Background(), UpOptions{Plan: planOf(t, text), Experiment: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lab.Down(context.Background()); err != nil && !strings.Contains(err.Error(), "no lab") {
			t.Error(err)
		}
	})
	return lab
}

// in runs a command in a node and returns what it prints.
func in(t testing.TB, lab *Lab, node string, argv ...string) string {
	t.Helper()
	cmd, err := lab.Command(context.Background(), node, argv, ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %v: %s", node, argv, err, out)
	}
	return strings.TrimSpace(string(out))
}
