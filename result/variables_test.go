package result

import (
	"math/rand/v2"
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

// TestVariableOrderFollowsItsDefinition compares with what the order means, over trials that have
// some of the keys only, and null and empty values.
func TestVariableOrderFollowsItsDefinition(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := []any{nil, "", 1, 2}
	for range 2000 {
		trials := make([]Trial, random.IntN(6))
		for i := range trials {
			trials[i].Variables = map[string]any{}
			for _, name := range []string{"a", "b", "c"} {
				if random.IntN(3) > 0 {
					trials[i].Variables[name] = values[random.IntN(len(values))]
				}
			}
		}
		changes := map[string]int{}
		var want []string
		for _, name := range []string{"a", "b", "c"} {
			if !slices.ContainsFunc(trials, func(t Trial) bool { _, has := t.Variables[name]; return has }) {
				continue
			}
			want = append(want, name)
			changes[name] = slices.IndexFunc(trials, func(t Trial) bool {
				return FormatVariable(t.Variables[name]) != FormatVariable(trials[0].Variables[name])
			})
			if changes[name] < 0 {
				changes[name] = len(trials)
			}
		}
		slices.SortStableFunc(want, func(a, b string) int { return changes[b] - changes[a] })
		if got := VariableNames(trials); !slices.Equal(got, want) {
			t.Fatalf("%v has the order %v, want %v", trials, got, want)
		}
	}
}
