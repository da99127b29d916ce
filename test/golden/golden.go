// Package golden compares a test's output with a reviewed file, or, with the flag -update, rewrites
// that file:
//
//	hack/go test ./plan -update
//
// It is for tests only.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update, for tests with other kinds of files.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Equal fails the test with the difference if got differs from the file at path.
func Equal[T ~string | ~[]byte](t testing.TB, path string, got T) {
	t.Helper()
	if *Update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	// Compares as text; a long difference is cut, and the file has the rest.
	const most = 20_000
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if the new one is right, -update writes it:\n%.*s", path, most, diff)
	}
}
