package undisturbed

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Packets that overtake one another and lost ones come out in the order in which they were due, each once; and fewer are
// held than there are.
func TestInDueOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var due, arrived, lost []Packet
	for i := range 400_000 {
		p := Packet{int64(i) * us, int64(i)*us + r.Int64N(2*ms)}
		if r.IntN(10) == 0 {
			p.ReceivedNs = Lost
			lost = append(lost, p)
		} else {
			arrived = append(arrived, p)
		}
		due = append(due, p)
	}
	slices.SortFunc(arrived, func(x, y Packet) int { return int(x.ReceivedNs - y.ReceivedNs) })
	if got := slices.Collect(InDueOrder(slices.Values(arrived), lost, 2*ms)); !slices.Equal(got, due) {
		t.Errorf("%d packets of %d, or in another order", len(got), len(due))
	}
	if got := slices.Collect(InDueOrder(slices.Values(arrived[:0]), lost, 2*ms)); !slices.Equal(got, lost) {
		t.Errorf("only lost ones: %d of %d", len(got), len(lost))
	}
	n := 0
	for range InDueOrder(slices.Values(arrived), lost, 2*ms) {
		if n++; n == 70_000 {
			break // who reads may stop
		}
	}
}
