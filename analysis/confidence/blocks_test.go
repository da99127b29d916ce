package confidence

import (
	"math"
	"testing"

	"nines.dev/nines/result"
)

// packed makes time blocks of latencies.
func packed(blocks ...[]int64) []*result.Packed {
	var out []*result.Packed
	for _, values := range blocks {
		h := result.NewHistogram()
		for _, ns := range values {
			h.Record(ns)
		}
		out = append(out, h.Packed())
	}
	return out
}

// even makes blocks with the values 1 to n each, in ns.
func even(blocks, n int) []*result.Packed {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i) + 1
	}
	var all [][]int64
	for range blocks {
		all = append(all, values)
	}
	return packed(all...)
}

// Packets that are spread evenly are independent. Of 20,000, 2,000 are expected above p90. 1,900 are too few for that,
// and 2,100 too many: the 95 % limits of such a Poisson count are about ±87.
func TestEvenBlocksAreIndependentPackets(t *testing.T) {
	b := BlocksOf([][]*result.Packed{even(100, 200)})
	got := b.Percentile(0.9, Level)
	if got.Value != 180 || got.Low == nil || *got.Low != 180 || got.High == nil || *got.High != 181 {
		t.Errorf("%+v, low %v, high %v", got, deref(got.Low), deref(got.High))
	}
}

func deref(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// One block with all slow packets is one event, so nothing bounds what is beyond it.
func TestOneStallBoundsNothingAbove(t *testing.T) {
	blocks := even(100, 100)
	stall := make([]int64, 50)
	for i := range stall {
		stall[i] = 1_000_000 + int64(i)*10_000
	}
	blocks[41] = packed(stall)[0]
	b := BlocksOf([][]*result.Packed{blocks})
	got := b.Percentile(0.999, Level)
	if got.High != nil || got.Low == nil || *got.Low > 100 || got.Clusters > 1 || got.Value < 1_000_000 {
		t.Errorf("%+v, low %v, high %v", got, deref(got.Low), deref(got.High))
	}
}

// Trials are joined to as many blocks as are enough, all of equal length.
func TestBlocksOfSeveralTrials(t *testing.T) {
	for _, c := range []struct{ trials, each, blocks int }{
		{1, 100, 100}, {1, 20, 20}, {1, 7, 7}, {2, 100, 100}, {3, 100, 150}, {6, 100, 120}, {10, 100, 100}, {27, 100, 108}, {100, 100, 100}, {300, 100, 300}, {6, 97, 582},
	} {
		var trials [][]*result.Packed
		for range c.trials {
			trials = append(trials, even(c.each, 3))
		}
		b := BlocksOf(trials)
		// All blocks have as many packets as the one with the most.
		all := b.steps[len(b.steps)-1]
		if b.blocks != c.blocks || all.in.largest*float64(b.blocks) != all.above || b.Tell() != (c.blocks >= 20) || b.total != uint64(3*c.each*c.trials) {
			t.Errorf("%d trials of %d blocks: %d blocks of at most %v of %v packets, want %d", c.trials, c.each, b.blocks, all.in.largest, all.above, c.blocks)
		}
		if got := b.Percentile(0.5, Level); (got.Low != nil) != b.Tell() || got.Value != 2 {
			t.Errorf("%d trials of %d blocks: %+v", c.trials, c.each, got)
		}
	}
	var none Blocks
	if none.Tell() {
		t.Error("no blocks tell something")
	}
}

// Packets that all took as long, as a histogram tells it, bound their percentiles by that.
func TestOneValueBoundsItself(t *testing.T) {
	b := BlocksOf([][]*result.Packed{even(100, 1)})
	got := b.Percentile(0.9, Level)
	if got.Value != 1 || deref(got.Low) != 1 || deref(got.High) != 1 {
		t.Errorf("%+v, low %v, high %v", got, deref(got.Low), deref(got.High))
	}
}

// Packets of equal weight are as without weights. Where one packet in a hundred stands for a hundred, it counts as that
// many, and fewer packets are independent.
func TestWeightedPackets(t *testing.T) {
	blocks := even(100, 200)
	want, same := BlocksOf([][]*result.Packed{blocks}), Weighted(blocks, 20_000, func(float64) float64 { return 7 })
	for _, p := range []float64{0.5, 0.9, 0.999} {
		x, y := want.Percentile(p, Level), same.Percentile(p, Level)
		if x.Value != y.Value || deref(x.Low) != deref(y.Low) || deref(x.High) != deref(y.High) || math.Abs(x.Clusters-y.Clusters) > 1e-6 {
			t.Errorf("p%g: %+v, with weights %+v", 100*p, x, y)
		}
	}
	heavy := Weighted(blocks, 20_000, func(ns float64) float64 { return max(1, 99*(ns-199)) })
	got := heavy.Percentile(0.8, Level)
	if got.Value != 200 || got.Clusters > 0.2*20_000/50 || heavy.Total() != 20_000 {
		t.Errorf("%+v of %d packets", got, heavy.Total())
	}
}
