package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A packed histogram has the buckets of the other kind, and takes the engine's counts in the same way.
func TestPackedHasTheSameBuckets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	values := []int64{0, 1, 2047, 2048, 2049, 4095, 4096, 1_000_000, HighestNs}
	for range 1000 {
		values = append(values, int64(math.Exp(24*random.Float64())))
	}
	h, sparse := histogramOf(values...), sparseOf(values)
	var pairs []int64
	slices.SortFunc(sparse.Counts, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	for _, pair := range sparse.Counts {
		pairs = append(pairs, pair[0], pair[1])
	}
	p, err := PackCounts(pairs)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(slices.Collect(p.Buckets()), slices.Collect(h.Packed().Buckets())) {
		t.Error("counts of the engine and a histogram of the same values have other buckets")
	}
	curve, before, i := h.Curve(), uint64(0), 0
	for bucket := range p.Buckets() {
		if point := curve[i]; bucket.Count != point.Count-before || h.clamp(bucket.HighNs) != point.ValueNs || bucket.LowNs > bucket.HighNs {
			t.Errorf("bucket %d is %+v, the curve has %+v", i, bucket, point)
		}
		before = curve[i].Count
		i++
	}
	if i != len(curve) || p.Count() != h.Count() {
		t.Errorf("%d buckets of %d packets, want %d of %d", i, p.Count(), len(curve), h.Count())
	}
}

func TestCountsThatAreNoHistogramAreRefused(t *testing.T) {
	for _, c := range []struct {
		pairs []int64
		want  string
	}{
		{[]int64{1}, "no pairs"}, {[]int64{-1, 1}, "index -1"}, {[]int64{countsLength, 1}, "index 27648"}, {[]int64{5, -1}, "the count -1"},
		{[]int64{5, math.MaxInt64, 6, 1}, "index 6"},
	} {
		if _, err := PackCounts(c.pairs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.pairs, err, c.want)
		}
	}
}

func TestValueOfAnIndexIsOneOfIts(t *testing.T) {
	for _, ns := range []int64{0, 1, 2047, 2048, 4095, 4096, 1_000_000, HighestNs} {
		if got := ValueOf(IndexOf(ns)); IndexOf(int64(got)) != IndexOf(ns) || math.Abs(got-float64(ns)) > 0.001*float64(ns) {
			t.Errorf("%d ns has the index of %v", ns, got)
		}
	}
}
