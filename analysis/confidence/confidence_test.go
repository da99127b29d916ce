package confidence

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
)

var (
	repeatsA = []float64{8.1, 9.4, 7.7, 12.9, 8.8, 9.1, 30.5, 8.4, 10.2, 9.9, 8.6, 11.7}
	repeatsB = []float64{10.4, 11.9, 9.1, 15.2, 10.6, 10.9, 33.1, 10.1, 12.6, 11.8}
)

func mean(values []float64) float64 { return stat.Mean(values, nil) }

// Recorded with SciPy 1.17.1, 200,000 draws; the ends vary by about a hundredth:
//
//	scipy.stats.bootstrap((a,), numpy.mean, n_resamples=200000, method="BCa", random_state=numpy.random.default_rng(1))
//
// and so on with method="percentile", numpy.median, and for the ratio the statistic
// lambda a, b, axis: numpy.median(b, axis=axis) / numpy.median(a, axis=axis).
func TestBootstrapAgreesWithSciPy(t *testing.T) {
	for _, c := range []struct {
		name             string
		got              Interval
		value, low, high float64
		tolerance        float64
	}{
		{"mean, percentile", Bootstrap(repeatsA, mean, Options{Seed: 7}), 11.275, 8.9167, 15.0833, 0.15},
		{"mean, BCa", Bootstrap(repeatsA, mean, Options{Seed: 7, BCa: true}), 11.275, 9.225, 18.1917, 0.3},
		{"median", Median(repeatsA, 7), 9.25, 8.5, 10.95, 1e-9},
		{"median, BCa", Bootstrap(repeatsA, medianOf, Options{Seed: 7, BCa: true}), 9.25, 8.5, 10.95, 0.11},
		{"ratio", Ratio(repeatsA, repeatsB, 7), 1.22703, 1.00855, 1.4492, 0.01},
	} {
		if !c.got.Bounded() {
			t.Errorf("%s has no interval", c.name)
			continue
		}
		for _, pair := range [][2]float64{{c.got.Median, c.value}, {*c.got.Low, c.low}, {*c.got.High, c.high}} {
			if math.Abs(pair[0]-pair[1]) > max(c.tolerance, 1e-5) {
				t.Errorf("%s: %.4f [%.4f, %.4f], SciPy has %.4f [%.4f, %.4f]", c.name, c.got.Median, *c.got.Low, *c.got.High, c.value, c.low, c.high)
				break
			}
		}
	}
}

func TestSameSeedSameInterval(t *testing.T) {
	values := append([]float64(nil), repeatsA...)
	a, b, other := Bootstrap(values, mean, Options{Seed: 3}), Bootstrap(values, mean, Options{Seed: 3}), Bootstrap(values, mean, Options{Seed: 4})
	if *a.Low != *b.Low || *a.High != *b.High {
		t.Errorf("the same seed gave [%v, %v] and [%v, %v]", *a.Low, *a.High, *b.Low, *b.High)
	}
	if *a.Low == *other.Low && *a.High == *other.High {
		t.Error("another seed gave the same draws")
	}
	for i := range values {
		if values[i] != repeatsA[i] {
			t.Fatal("the values were reordered")
		}
	}
}

func TestFewValuesSayHowLittleTheyCanTell(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		bounded bool
		holds   bool
		caution string
	}{
		{nil, false, false, "no value"},
		{[]float64{5}, false, false, "a single repeat has no interval"},
		{[]float64{5, 6}, true, false, "2 repeats cover their median with at most 50 % confidence, not 95 %: set 'repeat' to 6"},
		{[]float64{5, 6, 7, 8}, true, false, "88 %"},
		{[]float64{5, 6, 7, 8, 9}, true, false, "94 %"},
		{[]float64{5, 6, 7, 8, 9, 10}, true, true, ""},
		{[]float64{5, math.NaN(), 7}, false, false, "no interval"},
	} {
		i := Median(c.values, 1)
		if i.Bounded() != c.bounded || i.Holds() != c.holds || !strings.Contains(i.Caution(), c.caution) || c.caution == "" && i.Caution() != "" {
			t.Errorf("%v: bounded %v, holds %v, caution %q; want %v, %v, %q", c.values, i.Bounded(), i.Holds(), i.Caution(), c.bounded, c.holds, c.caution)
		}
		if i.Bounded() && (*i.Low > i.Median || *i.High < i.Median) {
			t.Errorf("%v: %v is outside [%v, %v]", c.values, i.Median, *i.Low, *i.High)
		}
	}
	if i := Ratio([]float64{0, 0, 0}, []float64{1, 2, 3}, 1); i.Bounded() {
		t.Error("a ratio to nothing has an interval")
	}
	if i := Ratio([]float64{1}, []float64{1, 2, 3}, 1); i.Bounded() || i.Median != 2 {
		t.Errorf("a single repeat beside three: %+v, want the ratio 2 without an interval", i)
	}
}

// The interval of the median of lognormal repeats contains the true median, 1, in the fraction of
// cases that its level or reach states. The tolerance is 3 standard errors of 1,000 cases, plus the
// shortfall that Efron and Tibshirani, table 14.2, find for the percentile method.
func TestCoverageOfTheMedian(t *testing.T) {
	const cases = 1000
	random := rand.New(rand.NewPCG(11, 11))
	for _, n := range []int{3, 5, 6, 10, 30} {
		held := 0
		for range cases {
			values := make([]float64, n)
			for i := range values {
				values[i] = math.Exp(0.5 * random.NormFloat64())
			}
			i := Bootstrap(values, medianOf, Options{Seed: 1, Draws: 1000})
			if *i.Low <= 1 && 1 <= *i.High {
				held++
			}
		}
		share, wanted := float64(held)/cases, min(Level, medianReach(n))
		if share < wanted-0.035 || share > wanted+0.035 {
			t.Errorf("%d repeats: %.3f of the intervals hold the median, want about %.3f", n, share, wanted)
		}
	}
}

// BCa covers the mean of skewed values better than the percentile method.
func TestCoverageOfTheMean(t *testing.T) {
	const cases, n = 1000, 30
	random := rand.New(rand.NewPCG(5, 5))
	held, heldPlain := 0, 0
	for range cases {
		values := make([]float64, n)
		for i := range values {
			values[i] = random.ExpFloat64()
		}
		corrected := Bootstrap(values, mean, Options{Seed: 1, Draws: 1000, BCa: true})
		plain := Bootstrap(values, mean, Options{Seed: 1, Draws: 1000})
		if *corrected.Low <= 1 && 1 <= *corrected.High {
			held++
		}
		if *plain.Low <= 1 && 1 <= *plain.High {
			heldPlain++
		}
	}
	if share := float64(held) / cases; share < 0.915 || share > 0.975 {
		t.Errorf("%.3f of the BCa intervals hold the mean, want about 0.95", share)
	}
	if held < heldPlain {
		t.Errorf("BCa holds the mean %d times, less than the percentile method's %d", held, heldPlain)
	}
}

// Recorded with SciPy 1.17.1 from scipy.stats.binom: Low is the largest l with
// cdf(l−1, n, p) ≤ 0.025, High the smallest h with cdf(h−1, n, p) ≥ 0.975 (0 above n).
func TestRanksAgreeWithSciPy(t *testing.T) {
	for _, c := range []struct {
		n          uint64
		p          float64
		low, high  uint64
		confidence float64
	}{
		{100, 0.5, 40, 61, 0.964799800},
		{1000, 0.99, 983, 997, 0.976094763},
		{10_000, 0.9999, 9997, 0, 0},
		{100_000, 0.9999, 99983, 99997, 0.975393451},
		{300_000, 0.9999, 299959, 299981, 0.956030020},
		{1_000_000, 0.999, 998938, 999062, 0.950206632},
		{100_000_000, 0.9999999, 99999983, 99999997, 0.975386343},
		{100_000_000, 0.999999, 99999880, 99999920, 0.954681602},
		{100_000_000, 0.5, 49990200, 50009801, 0.950015897},
		{10, 0.9, 7, 0, 0},
		{36_888, 0.9999, 36880, 36888, 0.961544052},
		{36_887, 0.9999, 36879, 36887, 0.961543677},
	} {
		r := percentileRanks(c.n, c.p, 0.95)
		if r.Low != c.low || r.High != c.high || math.Abs(r.Confidence-c.confidence) > 2e-6 {
			t.Errorf("p%g of %d: %+v, SciPy has %d to %d at %.9f", 100*c.p, c.n, r, c.low, c.high, c.confidence)
		}
	}
}

func TestPointNeedsAsManySamplesAsThePercentileSays(t *testing.T) {
	for _, c := range []struct {
		n    uint64
		p    float64
		want uint64
	}{
		{9_999, 0.9999, 0}, {10_000, 0.9999, 9_999}, {10_001, 0.9999, 10_000},
		{10_000_000, 0.9999999, 9_999_999}, {9_000_000, 0.9999999, 0},
		{100_000_000, 0.9999999, 99_999_990}, {300_000, 0.99999, 299_997}, {2, 0.5, 1}, {3, 0.5, 2}, {0, 0.5, 0},
		{100, 0, 0}, {100, 1, 0}, {100, math.NaN(), 0},
	} {
		if got := percentileRanks(c.n, c.p, 0.95).Point; got != c.want {
			t.Errorf("p%g of %d is at rank %d, want %d", 100*c.p, c.n, got, c.want)
		}
	}
}

// The interval of p99 from 2,000 exponential samples contains the true value, ln 100.
func TestCoverageOfRanks(t *testing.T) {
	const cases, n, p = 1000, 2000, 0.99
	random := rand.New(rand.NewPCG(2, 2))
	ranks := percentileRanks(n, p, 0.95)
	held := 0
	values := make([]float64, n)
	for range cases {
		for i := range values {
			values[i] = random.ExpFloat64()
		}
		sort.Float64s(values)
		if values[ranks.Low-1] <= math.Log(100) && math.Log(100) <= values[ranks.High-1] {
			held++
		}
	}
	if share := float64(held) / cases; math.Abs(share-ranks.Confidence) > 0.021 {
		t.Errorf("%.3f of the intervals hold p99, want %.3f", share, ranks.Confidence)
	}
}

// TestBeyondMedian: the values that are left contain the median as often as promised, and one less at each end would not.
func TestBeyondMedian(t *testing.T) {
	for n, want := range map[int]int{1: 0, 2: 0, 5: 0, 6: 0, 8: 0, 9: 1, 11: 1, 12: 2, 15: 3, 100: 39} {
		if got := BeyondMedian(n); got != want {
			t.Errorf("of %d values %d, want %d", n, got, want)
		}
	}
	for _, n := range []int{6, 9, 12, 40, 1001, 5000} {
		outside := func(left int) float64 { return 2 * binomialCDF(uint64(n), 0.5, uint64(left)) }
		if left := BeyondMedian(n); outside(left) > 1-Level || outside(left+1) <= 1-Level {
			t.Errorf("of %d values %d are left out at an end: outside in %g of cases, and of one more in %g", n, left, outside(left), outside(left+1))
		}
	}
}
