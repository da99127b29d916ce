package result

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// exactly is the smallest of sorted values that at least p of them do not exceed, from the
// definition and in whole numbers.
func exactly(sorted []int64, p *big.Rat) int64 {
	for i, v := range sorted {
		notExceeding := i + 1
		for notExceeding < len(sorted) && sorted[notExceeding] == v {
			notExceeding++
		}
		if big.NewRat(int64(notExceeding), int64(len(sorted))).Cmp(p) >= 0 {
			return v
		}
	}
	return 0
}

// decimal reads what a user writes.
func decimal(t *testing.T, text string) (float64, *big.Rat) {
	t.Helper()
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatal(text)
	}
	p, _ := exact.Float64()
	return p, exact
}

// TestAPercentileIsTheSmallestValueThatAtLeastPDoNotExceed, of a histogram and of sorted values.
func TestAPercentileIsTheSmallestValueThatAtLeastPDoNotExceed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for thousandths := 1; thousandths < 1000; thousandths += 9 {
		texts = append(texts, fmt.Sprintf("0.%03d", thousandths))
	}
	texts = append(texts, "0", "0.5", "0.55", "0.9", "0.99", "0.999", "0.9995", "0.9999", "1")
	for range 60 {
		values := make([]int64, 1+random.IntN(3000))
		h := NewHistogram()
		for i := range values {
			values[i] = 1 + random.Int64N(2047) // each has a bucket of its own
			h.Record(values[i])
		}
		slices.Sort(values)
		for _, text := range texts {
			p, exact := decimal(t, text)
			want := exactly(values, exact)
			rank := Rank(p, uint64(len(values)))
			if got := values[rank-1]; got != want {
				t.Errorf("p = %s of %d values: %d at rank %d, want %d", text, len(values), got, rank, want)
			}
			if got := h.Ranked(rank); got != want {
				t.Errorf("p = %s of %d values: the histogram has %d at rank %d, want %d", text, len(values), got, rank, want)
			}
		}
		for _, named := range NamedPercentiles() {
			got, count := named.Of(h.Percentiles()), uint64(len(values))
			if (got == nil) != (count < named.Samples) || Supports(named.P, count) != (got != nil) {
				t.Errorf("%s of %d values is %v", named.Name, count, got)
			}
			if got != nil && *got != values[count-count/named.Samples-1] {
				t.Errorf("%s of %d values is %d, want that at rank %d", named.Name, count, *got, count-count/named.Samples)
			}
		}
	}
}

// Two packets of 1,700 are more than one in a thousand.
func TestAPercentileIsNotOneRankLow(t *testing.T) {
	h := NewHistogram()
	for range 1698 {
		h.Record(2_000)
	}
	h.Record(1_000_000)
	h.Record(1_000_000)
	if p := h.Percentiles(); *p.P99 != 2_000 || *p.P999 != 1_000_000 {
		t.Errorf("p99 is %d ns and p99.9 %d ns", *p.P99, *p.P999)
	}
}

// TestRanksOfManyValues: without rounding, for as many packets as a soak of weeks has.
func TestRanksOfManyValues(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, named := range NamedPercentiles() {
		for range 2_000 {
			count := named.Samples*(1+random.Uint64N(1e12/named.Samples)) + random.Uint64N(3) - 1
			want := max(count-count/named.Samples, 1)
			if got := Rank(named.P, count); got != want {
				t.Errorf("%s of %d values is at rank %d, want %d", named.Name, count, got, want)
			}
			if got := Rank(1-1/float64(named.Samples), count); got != want {
				t.Errorf("1 - 1/%d of %d values is at rank %d, want %d", named.Samples, count, got, want)
			}
			if Supports(named.P, count) != (count >= named.Samples) {
				t.Errorf("%s of %d values: supported is %v", named.Name, count, Supports(named.P, count))
			}
		}
	}
}

// TestRanksAreThoseOfPostgreSQL where percentile_disc takes a rounded fraction for what it was.
func TestRanksAreThoseOfPostgreSQL(t *testing.T) {
	for x := uint64(2); x < 200; x++ {
		for below := range x {
			p := float64(below) / float64(x)
			for _, times := range []uint64{1, 2, 3, 1000, 12_345_678} {
				if got, want := Rank(p, times*x), max(times*below, 1); got != want {
					t.Errorf("%d/%d of %d values is at rank %d, want %d", below, x, times*x, got, want)
				}
			}
		}
	}
	if got := Rank(0.4736842105263158, 19); got != uint64(math.Ceil(0.4736842105263158*19)) {
		t.Errorf("rank %d", got)
	}
}

func TestAPercentileInHundredthsIsItsPart(t *testing.T) {
	for _, test := range []struct{ percentile, part float64 }{
		{50, 0.5}, {55, 0.55}, {90, 0.9}, {99, 0.99}, {99.9, 0.999}, {99.99, 0.9999}, {99.99999, 0.9999999}, {99.999999, 0.99999999}, {0.1, 0.001}, {1e-9, 1e-11}, {100, 1},
	} {
		if got := Part(test.percentile); got != test.part {
			t.Errorf("of %g: %v, want %v", test.percentile, got, test.part)
		}
	}
	if got := Part(math.Inf(1)); !math.IsNaN(got) {
		t.Errorf("of infinity: %v", got)
	}
}

func TestAHistogramOfManyHasEachRank(t *testing.T) {
	const many = 1 << 40
	h, err := ImportHistogram(Sparse{Count: many, Min: 1, Max: 3, Sum: 1, Counts: [][2]int64{{1, many - 2}, {2, 1}, {3, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for rank, want := range map[uint64]int64{1: 1, many - 3: 1, many - 2: 1, many - 1: 2, many: 3} {
		if got := h.Ranked(rank); got != want {
			t.Errorf("rank %d is %d, want %d", rank, got, want)
		}
	}
}
