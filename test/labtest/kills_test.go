package labtest

import (
	"slices"
	"testing"
)

func TestEachKindOfStepIsKilledOnce(t *testing.T) {
	step := func(kind string) []string {
		return []string{"before\t" + kind, "after\t" + kind}
	}
	passed := slices.Concat(step("namespace"), step("namespace"), step("link"), []string{"half written"}, step("process"), []string{"half written"})
	for _, c := range []struct {
		passed, known []string
		want          []int
	}{
		{nil, nil, nil},
		// before a namespace, after a link, half written, after a process
		{passed, nil, []int{1, 6, 7, 9}},
		{passed, []string{"namespace", "half written"}, []int{6, 9}},
	} {
		known := map[string]bool{}
		for _, kind := range c.known {
			known[kind] = true
		}
		if got := KillPoints(c.passed, known); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.passed, got, c.want)
		}
		if len(c.passed) > 0 && !known["process"] {
			t.Errorf("%q: process is not known afterwards", c.passed)
		}
	}
}
