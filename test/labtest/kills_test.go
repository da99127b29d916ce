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
		passed []string
		want   []int
	}{
		{nil, nil},
		// before a namespace, after a link, half written, after a process
		{passed, []int{1, 6, 7, 9}},
	} {
		if got := KillPoints(c.passed); !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.passed, got, c.want)
		}
	}
}
