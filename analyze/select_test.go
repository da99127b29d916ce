package analyze

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRanked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		values := make([]int64, 1+r.IntN(60))
		for i := range values {
			values[i] = r.Int64N(30)
		}
		sorted := slices.Sorted(slices.Values(values))
		for range 5 {
			rank := 1 + r.IntN(len(values))
			if got := ranked(values, uint64(rank)); got != sorted[rank-1] {
				t.Fatalf("rank %d of %v: %d", rank, sorted, got)
			}
		}
	}
}
