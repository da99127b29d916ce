package report

import (
	"math"
	"slices"
	"sort"

	"nines.dev/nines/result"
)

// curvePerDecade is how many places of a curve are read in each factor of ten of 1/(1−p): as many as the page
// draws (web/src/curve.ts).
const curvePerDecade = 100

// curveHeightDecades is a step of latency, of 2.3 %, below which the points between such places look the same.
const curveHeightDecades = 0.01

// Curve is a thinned percentile curve: Below[i] of Count samples are less than ValueNs[i], and
// samples from that rank on are at least that. The last point is the maximum.
type Curve struct {
	Count   uint64   `json:"count"`
	Below   []uint64 `json:"below"`
	ValueNs []int64  `json:"value_ns"`
}

// ThinCurve keeps the points of a curve that tell its values at all places where it is read, the percentiles of
// a summary among them, and always the first and the last. At such a place the value is the histogram's own, so
// that no figure differs from the table beside it. It also keeps those between that look different.
func ThinCurve(h *result.Histogram) *Curve {
	if h == nil || h.Count() == 0 {
		return nil
	}
	all := h.Curve()
	curve := &Curve{Count: h.Count()}
	ranks, lastY := readRanks(curve.Count), math.Inf(-1)
	below := uint64(0)
	for i, point := range all {
		read := 0 // ranks that this point is the value of
		for read < len(ranks) && ranks[read] <= point.Count {
			read++
		}
		ranks = ranks[read:]
		y := math.Log10(math.Max(float64(point.ValueNs), 1))
		if i == 0 || i == len(all)-1 || read > 0 || y-lastY >= curveHeightDecades {
			lastY = y
			curve.Below = append(curve.Below, below)
			curve.ValueNs = append(curve.ValueNs, point.ValueNs)
		}
		below = point.Count
	}
	return curve
}

// readRanks are the ranks at which a curve of count samples is read, in rising order.
func readRanks(count uint64) []uint64 {
	var ranks []uint64
	for _, p := range result.NamedPercentiles() {
		ranks = append(ranks, result.Rank(p.P, count))
	}
	for i := range int(math.Log10(float64(count))*curvePerDecade) + 2 {
		x := math.Pow10(i/curvePerDecade) * math.Pow(10, float64(i%curvePerDecade)/curvePerDecade)
		ranks = append(ranks, result.Rank(1-1/x, count))
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// At is the value at x = 1/(1−p): the smallest that at least p of the samples do not exceed. It is
// false if the count does not support this percentile.
func (c *Curve) At(x float64) (int64, bool) {
	if c == nil || len(c.Below) == 0 || x < 1 || x > float64(c.Count)*(1+1e-9) {
		return 0, false
	}
	rank := result.Rank(1-1/x, c.Count)
	after := sort.Search(len(c.Below), func(i int) bool { return c.Below[i] >= rank })
	return c.ValueNs[max(after-1, 0)], true
}
