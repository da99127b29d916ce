package result

import (
	"math"
	"strconv"
)

// Rank is the one rule for percentiles here: p of count values is the smallest that at least p of
// them do not exceed, and Rank is its place among them in rising order, from 1. The page counts in
// the same way (web/src/rank.ts). count is at least 1, and p is 0 to 1.
//
// No binary fraction is 0.999. So p is taken as 1 − 1/x where it is the nearest to that for a whole
// x, as all nines are, and x is exact. Of any other p the product p·count and the fraction
// rank/count are taken as rounded to 53 bits: whichever agrees with the decimal numbers decides.
// The product alone is the rule of PostgreSQL's percentile_disc (orderedsetaggs.c), which takes
// the 56th of 100 values for 0.55.
func Rank(p float64, count uint64) uint64 {
	if x := math.Round(1 / (1 - p)); x <= mostNines && p == 1-1/x {
		return max(count-count/uint64(x), 1)
	}
	n := float64(count)
	rank := max(uint64(math.Ceil(p*n)), 1)
	if rank > 1 && float64(rank-1)/n >= p {
		rank--
	}
	return min(rank, count)
}

// mostNines is an x up to which no two 1 − 1/x are the same in 53 bits.
const mostNines = 1e7

// Part is the fraction of a percentile as people write it: of 99.9, the number nearest to 0.999.
// Divided by 100 in binary fractions it would be the next above, and its rank one too high.
func Part(percentile float64) float64 {
	part, err := strconv.ParseFloat(strconv.FormatFloat(percentile, 'f', -1, 64)+"e-2", 64)
	if err != nil { // no number
		return math.NaN()
	}
	return part
}

// Supports reports whether count values are enough for p: 1/(1−p) of them, so that at least one is
// beyond the percentile. With fewer it would be a guess.
func Supports(p float64, count uint64) bool {
	return count > 0 && Rank(p, count) < count
}
