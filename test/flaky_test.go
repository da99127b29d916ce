package test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// flaky is the file of tests that failed and passed when they were repeated.
const flaky = "test/flaky.md"

// TestNoTestIsFlakyTwice: the first time may be noise, the second is a fault.
func TestNoTestIsFlakyTwice(t *testing.T) {
	for _, fault := range faultsOf(string(read(t, flaky)), declared(t)) {
		t.Errorf("%s: %s", flaky, fault)
	}
}

// declared are the names of the tests there are, by package.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	functions := map[string]*regexp.Regexp{
		".go": regexp.MustCompile(`(?m)^func (Test\w+)\(`),
		".c":  regexp.MustCompile(`(?m)^static void (test_\w+)\(`),
	}
	names := map[string]bool{}
	for _, name := range files(t) {
		extension := filepath.Ext(name)
		function := functions[extension]
		if function == nil || !strings.HasSuffix(name, "_test"+extension) {
			continue
		}
		for _, match := range function.FindAllStringSubmatch(string(read(t, name)), -1) {
			names[filepath.Dir(name)+" "+match[1]] = true
		}
	}
	return names
}

// faultsOf is what is wrong with the rows of the table.
func faultsOf(text string, declared map[string]bool) (faults []string) {
	_, rows, found := strings.Cut(text, "\n|---")
	if !found {
		return []string{"it has no table"}
	}
	seen := map[string]bool{}
	for line := range strings.SplitSeq(rows, "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 6 || !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(cells[0]) {
			faults = append(faults, "a row wants a date and five cells more: "+line)
			continue
		}
		for cell := range strings.SplitSeq(cells[2], ", ") { // one fault may show in several tests
			name, _, _ := strings.Cut(strings.Trim(cell, "`"), "/")
			name = strings.Trim(cells[1], "`") + " " + name
			switch {
			case !declared[name]:
				faults = append(faults, "there is no test "+name)
			case seen[name]:
				faults = append(faults, name+" is listed twice: it is a fault, to be fixed before the issue ends")
			}
			seen[name] = true
		}
	}
	return faults
}

func TestFlakyTestsAreNamedOnce(t *testing.T) {
	const head = "| date | package | test | what it said | likely cause | what was done |\n|---|---|---|---|---|---|\n"
	known := map[string]bool{"lab TestUp": true, "lab TestDown": true}
	up := "| 2026-11-22 | `lab` | `TestUp/veth` | too early | noise | it waits |\n"
	down := "| 2026-11-22 | `lab` | `TestDown` | too early | noise | it waits |\n"
	for text, want := range map[string]int{
		"": 1, head: 0, head + up + down: 0, head + up + down + up: 1, head + "| yesterday | `lab` | `TestUp` |\n": 1,
		head + strings.Replace(up, "`lab`", "`link`", 1):                                   1,
		head + strings.Replace(up, "`TestUp/veth`", "`TestUp/veth`, `TestDown`", 1):        0,
		head + strings.Replace(up, "`TestUp/veth`", "`TestUp/veth`, `TestDown`", 1) + down: 1,
		head + strings.Replace(up, "`TestUp/veth`", "`TestUp`, `TestSideways`", 1):         1,
	} {
		if got := faultsOf(text, known); len(got) != want {
			t.Errorf("%d faults, want %d: %q in %s", len(got), want, got, text)
		}
	}
}
