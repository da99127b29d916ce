package vm

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// results are how the tests of all boots have ended.
type results struct {
	mu     sync.Mutex
	passed map[string]int // by boot and package
	bad    map[string]bool
}

func (r *results) add(boot string, rows []row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.passed == nil {
		r.passed, r.bad = map[string]int{}, map[string]bool{}
	}
	for _, row := range rows {
		if row.result == "pass" {
			r.passed[boot+" "+row.where]++
		} else {
			r.bad[row.where] = true
		}
	}
}

// whole are the packages whose tests have all passed at once, in each of their boots.
func (r *results) whole(packages []labPackage) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for _, p := range packages {
		missing := false
		for boot, tests := range p.boots {
			missing = missing || r.passed[boot+" "+p.path] < len(tests)
		}
		if !missing && !r.bad[p.path] {
			found = append(found, p.path)
		}
	}
	return found
}

// write writes their names, from which make test-all knows what has passed.
func (r *results) write(t *testing.T, name string, packages []labPackage) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(r.whole(packages), "\n")+"\n"), 0o644); err != nil {
		t.Error(err)
	}
}

func TestAPackageHasPassedInAllOfItsBoots(t *testing.T) {
	packages := []labPackage{
		{path: "whole", boots: map[string][]string{"main": {"TestLabA", "TestLabB"}, "rt": {"TestLabA"}}},
		{path: "cut", boots: map[string][]string{"main": {"TestLabA", "TestLabB"}}},
		{path: "not-booted", boots: map[string][]string{"rt": {"TestLabA"}}},
		{path: "again", boots: map[string][]string{"main": {"TestLabA"}}},
	}
	r := &results{}
	r.add("main", []row{{where: "whole", result: "pass"}, {where: "whole", result: "pass"}, {where: "cut", result: "pass"}, {where: "again", result: again}})
	r.add("rt", []row{{where: "whole", result: "pass"}})
	if got := r.whole(packages); !slices.Equal(got, []string{"whole"}) {
		t.Errorf("%v have passed", got)
	}
}
