package method

import (
	"testing"

	"nines.dev/nines/result"
)

// TestQuantileIsTheRank: among the values 1 to n, the value at rank ⌈p·n⌉ is the rank.
func TestQuantileIsTheRank(t *testing.T) {
	for _, test := range []struct {
		n    int64
		p    float64
		want float64
	}{
		{1, 0.5, 1}, {1, 0.999, 1}, {2, 0.5, 1}, {3, 0.5, 2}, {10, 0.9, 9}, {10, 0.91, 10},
		{500, 0.999, 500}, {1000, 0.999, 999}, {1001, 0.999, 1000}, {1999, 0.999, 1998}, {2000, 0.999, 1998},
		{1000, 0.5, 500}, {1001, 0.5, 501}, {100, 0, 1}, {100, 1, 100},
	} {
		h := result.NewHistogram()
		for ns := int64(1); ns <= test.n; ns++ {
			h.Record(ns) // every value up to 2047 ns has its own bucket
		}
		if got, ok := quantile(h, test.p); !ok || got != test.want {
			t.Errorf("the quantile %g of 1 to %d is %g, want %g", test.p, test.n, got, test.want)
		}
	}
	if _, ok := quantile(result.NewHistogram(), 0.5); ok {
		t.Error("nothing has a median")
	}
	if _, ok := quantile(nil, 0.5); ok {
		t.Error("nil has a median")
	}
}

func TestSupported(t *testing.T) {
	h := result.NewHistogram()
	for range 999 {
		h.Record(1)
	}
	if supported(h, 0.999) || !supported(h, 0.99) || supported(nil, 0.5) {
		t.Error("999 packets")
	}
	if h.Record(1); !supported(h, 0.999) {
		t.Error("1,000 packets do not support the 99.9th percentile")
	}
}

func TestRanksAndSpread(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	for p, want := range map[float64]float64{0: 1, 0.01: 1, 0.5: 2, 0.51: 3, 0.99: 4, 1: 4} {
		if got := rank(values, p); got != want {
			t.Errorf("rank %g is %g, want %g", p, got, want)
		}
	}
	if mean(values) != 2.5 || deviation([]float64{2, 4}) != 1.4142135623730951 || deviation(values[:1]) != 0 {
		t.Errorf("mean %g, deviation %g", mean(values), deviation([]float64{2, 4}))
	}
}
