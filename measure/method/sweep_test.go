package method

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/spec"
)

func TestSweepOrder(t *testing.T) {
	tests := []struct {
		name          string
		runs, repeats int
		order         spec.Order
		want          []Step
	}{
		{"interleaved", 3, 2, spec.OrderInterleaved, []Step{{0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {2, 2}}},
		{"sequential", 3, 2, spec.OrderSequential, []Step{{0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}}},
		{"one", 1, 1, spec.OrderInterleaved, []Step{{0, 1}}},
		{"none", 0, 3, spec.OrderInterleaved, []Step{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Sweep(test.runs, test.repeats, test.order)); diff != "" {
				t.Errorf("Sweep (-want +got):\n%s", diff)
			}
		})
	}
}
