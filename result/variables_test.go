package result

import (
	"slices"
	"testing"
)

// TestVariablesAreInTheSweepsOrder: a sweep's last key varies fastest, for any names, with repeats
// interleaved or not.
func TestVariablesAreInTheSweepsOrder(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		for _, repeats := range []int{1, 3} {
			var trials []Trial
			for i := range 8 {
				for range repeats {
					trials = append(trials, Trial{Variables: map[string]any{order[0]: i / 4, order[1]: i / 2 % 2, order[2]: i % 2}})
				}
			}
			if got := VariableNames(trials); !slices.Equal(got, order) {
				t.Errorf("sweep of %v, %d repeats: %v", order, repeats, got)
			}
		}
	}
	if got := VariableNames(nil); len(got) != 0 {
		t.Errorf("no trials have the variables %v", got)
	}
	same := []Trial{{Variables: map[string]any{"y": 1, "x": 1}}, {Variables: map[string]any{"y": 1, "x": 1}}}
	if got := VariableNames(same); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("keys that never vary are in the order %v", got)
	}
}
