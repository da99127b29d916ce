package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"nines.dev/nines/test/labtest"
)

// few is how many tests that need root one process runs, or some more. Labs wait more than they compute, so those of
// a large package one after another would take longer than everything beside them; and the smaller the parts are, the
// less does everyone wait for the last.
const few = 24

// parted shares the tests of a large package that need root among several processes. Those of a file stay together, as
// they often build labs of one name, for which they would wait (labtest.Named).
func (w work) parted() []work {
	count := (len(w.tests) + few - 1) / few
	if w.pass != labtest.PassRoot || count < 2 {
		return []work{w}
	}
	files, err := w.in.testsByFile()
	if err != nil {
		return []work{w} // it is only slower
	}
	parts := make([]work, count)
	for i := range parts {
		parts[i] = w
		parts[i].part, parts[i].tests = strconv.Itoa(i+1), nil
	}
	left, at, shared := slices.Clone(w.tests), 0, 0
	for _, tests := range files {
		if shared >= len(w.tests)*(at+1)/count && at < count-1 {
			at++
		}
		for _, test := range tests {
			if i := slices.Index(left, test); i >= 0 {
				parts[at].tests = append(parts[at].tests, test)
				left = slices.Delete(left, i, i+1)
				shared++
			}
		}
	}
	parts[at].tests = append(parts[at].tests, left...)
	return slices.DeleteFunc(parts, func(part work) bool { return len(part.tests) == 0 })
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

// freePlace is the first number from 1 to labtest.Parts that no part of the package has that runs, or "" for work
// without parts.
func (w work) freePlace(running []work) string {
	for i := range labtest.Parts {
		place := strconv.Itoa(i + 1)
		if w.part != "" && !slices.ContainsFunc(running, func(r work) bool { return r.in == w.in && r.place == place }) {
			return place
		}
	}
	return ""
}
