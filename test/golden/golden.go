// Package golden holds what a test has made against a file that somebody has looked at,
// or, with the flag -update, writes that file anew:
//
//	hack/go test ./plan -update
//
// It is for tests only.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is the flag -update, for a test with files of another kind.
var Update = flag.Bool("update", false, "write the golden files anew")

// Equal fails the test with the difference where got is not what the file at path holds.
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
	// As text, of which a large one is cut: the file has the rest.
	const most = 20_000
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); if the new one is right, -update writes it:\n%.*s", path, most, diff)
	}
}

// Part is Equal for the lines of a file between one with the mark and the next that ends
// such a part.
func Part(t testing.TB, path, mark, got string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- made by make generate: "+mark+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no lines %q and %q", path, begin, end)
	}
	Equal(t, path, before+begin+got+end+after)
}
