package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"nines.dev/nines/test/labtest"
)

// large is how many tests that need root one process runs. Labs wait more than they compute, so those of
// a large package would take longer than everything beside them.
const large = 120

// parted shares the tests of a large package that need root between two processes. Those of a file stay
// together, as they often build labs of one name, for which they would wait (labtest.Named).
func (w work) parted() []work {
	if w.pass != labtest.PassRoot || len(w.tests) <= large {
		return []work{w}
	}
	files, err := w.in.testsByFile()
	if err != nil {
		return []work{w} // it is only slower
	}
	one, other := w, w
	one.part, one.tests = "1", nil
	other.part, other.tests = "2", slices.Clone(w.tests)
	for _, tests := range files {
		if len(one.tests) >= len(w.tests)/2 {
			break
		}
		for _, test := range tests {
			if i := slices.Index(other.tests, test); i >= 0 {
				one.tests = append(one.tests, test)
				other.tests = slices.Delete(other.tests, i, i+1)
			}
		}
	}
	return []work{one, other}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsByFile are the names of the package's tests, by file in the order of their names.
func (p *testPackage) testsByFile() ([][]string, error) {
	files := slices.Sorted(slices.Values(slices.Concat(p.TestGoFiles, p.XTestGoFiles)))
	var all [][]string
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		var tests []string
		for _, found := range testFunction.FindAllSubmatch(text, -1) {
			tests = append(tests, string(found[1]))
		}
		all = append(all, tests)
	}
	return all, nil
}
