package vm

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/test/events"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/vm/boots"
)

// clusterModule is the folder of the other module with such tests.
const clusterModule = "cluster/"

// labTests are the names of tests for the laboratory.
const labTests = `^TestLab[A-Z0-9]`

// labPackage is a package with such tests, compiled.
type labPackage struct {
	path   string // below the repository
	binary string
	boots  map[string][]string // tests by boot
}

// findPackages finds the packages whose tests are for the laboratory, compiled, and asks each
// test for its boots: outside the laboratory it is skipped with their names.
func findPackages(t *testing.T, repository string) []labPackage {
	t.Helper()
	into := filepath.Join(repository, "build", "vm")
	if err := os.RemoveAll(into); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		t.Fatal(err)
	}
	var packages []labPackage
	for _, path := range packagesWithLabTests(t, repository) {
		p := labPackage{path: path, binary: filepath.Join(into, strings.ReplaceAll(path, "/", "-")+".test"), boots: map[string][]string{}}
		if err := linkCompiled(t.Context(), repository, path, p.binary); err != nil {
			t.Errorf("find the compiled tests of %s (make test-compile): %v", path, err)
			continue
		}
		ask := exec.CommandContext(t.Context(), p.binary, "-test.v=test2json", "-test.run", labTests)
		ask.Dir = filepath.Join(repository, path)
		ask.Env = append(os.Environ(), labtest.BootVariable+"=")
		out, err := ask.CombinedOutput()
		if err != nil {
			t.Errorf("ask the tests of %s for their boots: %v\n%s", path, err, out)
			continue
		}
		err = tellResults(t.Context(), repository, bytes.NewReader(out), func(r events.Result) {
			if labtest.NeedOf(r.Output) == labtest.NeedLongForm {
				return // make test-all has it
			}
			wanted, each := labtest.BootsOf(r.Output)
			if len(wanted) == 0 {
				t.Errorf("%s %s does not begin with labtest.VirtualLab", path, r.Name)
			}
			once := os.Getenv("NINES_VM_ONCE") != "" && !each
			for _, boot := range wanted {
				if !slices.ContainsFunc(boots.All, func(b boots.Boot) bool { return b.Name == boot }) {
					t.Errorf("%s %s is for a boot %q, which does not exist", path, r.Name, boot)
				}
				if boots.IsChosen(boot) {
					p.boots[boot] = append(p.boots[boot], r.Name)
					if once {
						break
					}
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

// linkCompiled makes a hard link, in the folder that the laboratory gets, to the tests that
// make test-compile has compiled. Those of the module in cluster/ it compiles itself.
func linkCompiled(ctx context.Context, repository, path, link string) error {
	if below, ok := strings.CutPrefix(path, clusterModule); ok {
		compile := exec.CommandContext(ctx, "hack/go", "-C", clusterModule, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", link, "./"+below)
		compile.Dir = repository
		if out, err := compile.CombinedOutput(); err != nil {
			return fmt.Errorf("compile them: %w: %s", err, out)
		}
		return nil
	}
	ask := exec.CommandContext(ctx, "build/passes", "binary", path)
	ask.Dir = repository
	compiled, err := ask.Output()
	if err != nil {
		return err
	}
	return os.Link(strings.TrimSpace(string(compiled)), link)
}

// selectedPackages are those that NINES_VM_SELECTED names a file of, nil for all.
func selectedPackages(t *testing.T) []string {
	t.Helper()
	name := os.Getenv("NINES_VM_SELECTED")
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// packagesWithLabTests looks into the repository's test files.
func packagesWithLabTests(t *testing.T, repository string) []string {
	t.Helper()
	declares := regexp.MustCompile(`(?m)^func TestLab[A-Z0-9]\w*\(t \*testing\.T\)`)
	selected := selectedPackages(t)
	var found []string
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "build", "node_modules", "results"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !declares.Match(text) {
			return err
		}
		below, err := filepath.Rel(repository, filepath.Dir(path))
		if err == nil && !slices.Contains(found, below) && (selected == nil || slices.Contains(selected, "nines.dev/nines/"+below)) {
			found = append(found, below)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// First what looks at the machine as it has booted. With isolcpus, processes were seen
	// to be allowed on all CPUs after partitions of control groups had come and gone.
	if i := slices.Index(found, filepath.Join("vm", "vlab")); i > 0 {
		booted := found[i]
		found = slices.Insert(slices.Delete(found, i, i+1), 0, booted)
	}
	return found
}

// tellResults reads what a test binary prints, by Go's own reader of it, and tells each
// test of the top level when it has ended.
func tellResults(ctx context.Context, repository string, from *bytes.Reader, tell func(events.Result)) error {
	reader := exec.CommandContext(ctx, "hack/go", "tool", "test2json", "-t")
	reader.Dir, reader.Stdin = repository, from
	out, err := reader.Output()
	if err != nil {
		return fmt.Errorf("go tool test2json: %w", err)
	}
	e := events.Reader{Tell: tell}
	for line := range bytes.Lines(out) {
		if err := e.Read(line); err != nil {
			return err
		}
	}
	return nil
}
