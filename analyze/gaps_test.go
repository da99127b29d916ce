package analyze

import (
	"math/rand/v2"
	"testing"
)

// TestGapsKnowNumbers: a packet's number is that in the file, whatever is left out.
func TestGapsKnowNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, leaveOut := range []int{0, 1, 50, 90} {
		var g gaps
		var numbers []uint64
		for number := uint64(1); number <= 2000; number++ {
			if r.IntN(100) < leaveOut {
				continue
			}
			if before := number - 1 - uint64(len(numbers)); before != g.before() {
				g = append(g, gap{uint32(len(numbers)), before})
			}
			numbers = append(numbers, number)
		}
		for place, number := range numbers {
			if got := g.number(uint32(place)); got != number {
				t.Fatalf("%d %% left out: the packet at place %d has number %d, want %d", leaveOut, place, got, number)
			}
		}
		if leaveOut == 0 && len(g) > 0 {
			t.Errorf("%d gaps where nothing is left out", len(g))
		}
	}
}
