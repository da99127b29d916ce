package selection

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// broken are changes that break something, each of another sort, with a unit that must be selected and a command that
// runs its tests.
var broken = []struct {
	what, file, old, new string
	unit, command        string
}{
	{
		"a constant", "plan/address.go", "const maxStaticNeighbours = 16", "const maxStaticNeighbours = 1",
		"nines.dev/nines/plan", "hack/go test ./plan",
	},
	{
		"a C function", "engine/stats/histogram.c", "<< bucket;", "<< (bucket + 1);",
		"make test-engine", "make -C engine ../build/engine/asan/stats/histogram_test && build/engine/asan/stats/histogram_test",
	},
	{
		"an example", "examples/quickstart.yaml", "frame_bytes: 64", "frame_bites: 64",
		"nines.dev/nines/spec", "hack/go test ./spec",
	},
	{
		"a manifest", "cluster/deploy/agent/rbac.yaml", "kind: ServiceAccount", "kind: ServiceAcount",
		"nines.dev/nines/cluster/deploy/helm", "cd cluster && ../hack/go test ./deploy/helm",
	},
	{
		"the page", "web/src/format.ts", "value.toFixed(1)", "value.toFixed(0)",
		"make test-web", "cd web && npm test --silent",
	},
}

// TestWhatIsBrokenFailsInItsSelectedTests breaks a copy of the repository, and runs tests that are selected there: they
// passed before, and must fail.
func TestWhatIsBrokenFailsInItsSelectedTests(t *testing.T) {
	tree := repository(t)
	before := Units(tree)
	all, copied := t, ""
	for _, c := range broken {
		t.Run(strings.ReplaceAll(c.what, " ", "-"), func(t *testing.T) {
			text := string(tree[c.file].Content)
			next := maps.Clone(tree)
			next[c.file] = NewFile([]byte(strings.Replace(text, c.old, c.new, 1)), 0o644)
			if next[c.file].Digest == tree[c.file].Digest {
				t.Fatalf("%s does not contain %q", c.file, c.old)
			}
			if got := selectedBy(before, next); !slices.Contains(got, c.unit) {
				t.Errorf("%s is not selected, but %v", c.unit, got)
			}
			labtest.LongForm(t)
			if copied == "" {
				copied = all.TempDir()
				write(t, copied, tree)
			}
			if out, err := runIn(copied, c.command); err != nil {
				t.Fatalf("before the change: %v\n%s", err, out)
			}
			name := filepath.Join(copied, c.file)
			if err := os.WriteFile(name, next[c.file].Content, 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := runIn(copied, c.command)
			if err == nil {
				t.Errorf("the tests pass with %q in place of %q", c.new, c.old)
			}
			t.Logf("with %q: %v\n%s", c.new, err, out[max(0, len(out)-500):])
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// write writes the files of a tree into a folder, and beside them what the page's tests need of npm.
func write(t *testing.T, folder string, tree Tree) {
	t.Helper()
	for name, file := range tree {
		to := filepath.Join(folder, name)
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		switch {
		case err != nil:
		case file.Link:
			err = os.Symlink(string(file.Content), to)
		default:
			err = os.WriteFile(to, file.Content, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	modules, err := filepath.Abs("../../web/node_modules")
	if err == nil {
		err = os.Symlink(modules, filepath.Join(folder, "web/node_modules"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runIn(folder, command string) (string, error) {
	run := exec.Command("sh", "-c", command)
	run.Dir = folder
	run.Env = append(os.Environ(), "NINES_LONG=")
	out, err := run.CombinedOutput()
	return string(out), err
}
