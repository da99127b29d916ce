package result

import (
	"math"
	"math/rand"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sparseIndex is HdrHistogram's index of a value for 1 ns to 60 s at 3 digits (2048 sub-buckets),
// implemented a second time so that the test does not compare the library with itself. Source:
// HdrHistogram, countsArrayIndex.
func sparseIndex(value int64) int64 {
	const halfCount, halfMagnitude = 1024, 10
	bucket := int64(0)
	for value>>bucket >= 2*halfCount {
		bucket++
	}
	sub := value >> bucket
	return (bucket+1)<<halfMagnitude + sub - halfCount
}

func sparseOf(values []int64) Sparse {
	counts := map[int64]int64{}
	s := Sparse{Count: uint64(len(values)), Min: math.MaxInt64}
	for _, v := range values {
		counts[sparseIndex(v)]++
		s.Min, s.Max, s.Sum = min(s.Min, v), max(s.Max, v), s.Sum+float64(v)
	}
	for index, count := range counts {
		s.Counts = append(s.Counts, [2]int64{index, count})
	}
	return s
}

func lognormal(seed int64, count int) []int64 {
	random := rand.New(rand.NewSource(seed))
	values := make([]int64, count)
	for i := range values {
		values[i] = int64(math.Exp(9 + 1.2*random.NormFloat64()))
	}
	return values
}

func TestImportedHistogramHasTheSamplesPercentiles(t *testing.T) {
	values := lognormal(1, 200_000)
	h, err := ImportHistogram(sparseOf(values))
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	p := h.Percentiles()
	if p.Count != 200_000 || *p.Min != values[0] || *p.Max != values[len(values)-1] {
		t.Errorf("count %d, min %d, max %d; want 200000, %d, %d", p.Count, *p.Min, *p.Max, values[0], values[len(values)-1])
	}
	for _, named := range NamedPercentiles() {
		got := named.Of(p)
		if named.Samples > 200_000 {
			if got != nil {
				t.Errorf("%s is %d of 200,000 samples, want null", named.Name, *got)
			}
			continue
		}
		rank := int(math.Ceil(named.P * float64(len(values))))
		want := values[rank-1]
		if math.Abs(float64(*got-want)) > float64(want)/1000+1 {
			t.Errorf("%s = %d, want %d within 3 digits", named.Name, *got, want)
		}
	}
}

func TestPercentilesNeedEnoughSamples(t *testing.T) {
	for _, named := range NamedPercentiles() {
		h := NewHistogram()
		for i := uint64(1); i < named.Samples; i++ {
			h.Record(1000)
		}
		if got := named.Of(h.Percentiles()); got != nil {
			t.Errorf("%s of %d samples is %d, want null", named.Name, named.Samples-1, *got)
		}
		h.Record(1000)
		if got := named.Of(h.Percentiles()); got == nil || *got != 1000 {
			t.Errorf("%s of %d samples is %v, want 1000", named.Name, named.Samples, got)
		}
	}
}

func TestEmptyHistogramSaysNothing(t *testing.T) {
	if diff := cmp.Diff(Percentiles{}, NewHistogram().Percentiles()); diff != "" {
		t.Error(diff)
	}
	h, err := ImportHistogram(Sparse{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Percentiles{}, h.Percentiles()); diff != "" {
		t.Error(diff)
	}
}

func TestImportRefusesWhatDoesNotAddUp(t *testing.T) {
	for name, test := range map[string]struct {
		sparse Sparse
		want   string
	}{
		"lost samples":   {Sparse{Count: 3, Min: 1, Max: 1, Sum: 2, Counts: [][2]int64{{1, 2}}}, "holds 2 samples, but says 3"},
		"index too high": {Sparse{Count: 1, Min: 1, Max: 1, Sum: 1, Counts: [][2]int64{{1 << 40, 1}}}, "outside"},
		"index negative": {Sparse{Count: 1, Min: 1, Max: 1, Sum: 1, Counts: [][2]int64{{-1, 1}}}, "outside"},
		"count negative": {Sparse{Count: 0, Counts: [][2]int64{{1, 1}, {2, -1}}}, "negative count"},
		"min over max":   {Sparse{Count: 1, Min: 5, Max: 4, Sum: 4, Counts: [][2]int64{{4, 1}}}, "minimum 5"},
	} {
		if _, err := ImportHistogram(test.sparse); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestMergeIsTheHistogramOfBoth(t *testing.T) {
	a, b := lognormal(1, 1000), lognormal(2, 5000)
	left, both := NewHistogram(), NewHistogram()
	for _, v := range a {
		left.Record(v)
		both.Record(v)
	}
	right := NewHistogram()
	for _, v := range b {
		right.Record(v)
		both.Record(v)
	}
	left.Merge(right)
	left.Merge(NewHistogram())
	left.Merge(nil)
	if diff := cmp.Diff(both.Curve(), left.Curve()); diff != "" {
		t.Error(diff)
	}
	got, want := left.Percentiles(), both.Percentiles()
	if *got.Min != *want.Min || *got.Max != *want.Max || math.Abs(*got.Mean-*want.Mean) > 1e-6 {
		t.Errorf("merged %+v, want %+v", got, want)
	}
	empty := NewHistogram()
	empty.Merge(right)
	if *empty.Percentiles().Min != *right.Percentiles().Min {
		t.Error("merging into an empty histogram lost the minimum")
	}
}

func TestCurveEndsAtTheExactMaximum(t *testing.T) {
	h := NewHistogram()
	for _, v := range []int64{100, 100, 2_000_003, 70_000_000_001} { // the last is out of range
		h.Record(v)
	}
	curve := h.Curve()
	last := curve[len(curve)-1]
	if last.Count != 4 || last.ValueNs > 70_000_000_001 || last.ValueNs < HighestNs {
		t.Errorf("the curve ends at %+v", last)
	}
	if curve[0] != (Point{Count: 2, ValueNs: 100}) {
		t.Errorf("the curve begins at %+v", curve[0])
	}
	if *h.Percentiles().Max != 70_000_000_001 {
		t.Errorf("max is %d", *h.Percentiles().Max)
	}
}

func TestMedianLeavesItsInput(t *testing.T) {
	values := []float64{3, 1, 2, 10}
	if got := Median(values); got != 2.5 {
		t.Errorf("median %g, want 2.5", got)
	}
	if diff := cmp.Diff([]float64{3, 1, 2, 10}, values); diff != "" {
		t.Error(diff)
	}
	if Median([]float64{5, 1, 3}) != 3 || Median(nil) != 0 {
		t.Error("odd or empty median is wrong")
	}
}
