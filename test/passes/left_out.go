package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/test/labtest"
)

// leftOut keeps what a test lacked that no later pass runs; nothing if it ran, or a later one runs it.
func (r *record) leftOut(pass, test string, said []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.LeftOut[pass], test)
	for _, text := range said {
		if missing := labtest.Missing(text); missing != "" && isLost(pass, text) {
			if r.LeftOut[pass] == nil {
				r.LeftOut[pass] = map[string]string{}
			}
			r.LeftOut[pass][test] = missing
		}
	}
}

// tellLeftOut names the tests that the passes left out, a line for each thing that is missing.
func (p *pass) tellLeftOut(packages []*testPackage) error {
	tests := map[string][]string{}
	for _, in := range packages {
		r, _, err := in.readRecord()
		if err != nil {
			return err
		}
		for _, pass := range p.names {
			for test, missing := range r.LeftOut[pass] {
				tests[missing] = append(tests[missing], in.name()+" "+test)
			}
		}
	}
	for _, missing := range slices.Sorted(maps.Keys(tests)) {
		slices.Sort(tests[missing])
		fmt.Fprintf(p.out, "left out without %s: %s\n", missing, strings.Join(tests[missing], ", "))
	}
	return nil
}
