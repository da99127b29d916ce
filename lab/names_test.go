package lab

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tests of this package that need root are shared, file by file, by two processes that run side by side
// (labtest.PartVariable). Tests for the virtual laboratory are not.
func TestNamesOfLabsAreInOneFile(t *testing.T) {
	name := regexp.MustCompile(`(?:name: |")(tb[a-z0-9]+)`)
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_lab_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "Replace") { // by a name of its own
				continue
			}
			for _, found := range name.FindAllStringSubmatch(line, -1) {
				if used[found[1]] == nil {
					used[found[1]] = map[string]bool{}
				}
				used[found[1]][file] = true
			}
		}
	}
	if len(used) < 50 {
		t.Errorf("only %d names were found", len(used))
	}
	for lab, in := range used {
		if len(in) > 1 {
			t.Errorf("lab %s is in %s", lab, strings.Join(slices.Sorted(maps.Keys(in)), ", "))
		}
	}
}
