package report

import (
	"math"
	"sort"

	"nines.dev/nines/result"
)

// Points of a thinned curve closer than this look the same.
const (
	curveStepDecades   = 0.02 // 4.7 % of 1/(1−p)…
	curveHeightDecades = 0.01 // …or 2.3 % of latency
)

// Curve is a thinned percentile curve: Below[i] of Count samples are less than ValueNs[i], and
// samples from that rank on are at least that. The last point is the maximum.
type Curve struct {
	Count   uint64   `json:"count"`
	Below   []uint64 `json:"below"`
	ValueNs []int64  `json:"value_ns"`
}

// ThinCurve keeps the points of a curve that are distinguishable on logarithmic axes, and always
// the first and the last.
func ThinCurve(h *result.Histogram) *Curve {
	if h == nil || h.Count() == 0 {
		return nil
	}
	all := h.Curve()
	curve := &Curve{Count: h.Count()}
	lastX, lastY := math.Inf(-1), math.Inf(-1)
	below := uint64(0)
	for i, point := range all {
		x := math.Log10(float64(curve.Count) / float64(curve.Count-below))
		y := math.Log10(math.Max(float64(point.ValueNs), 1))
		if i == 0 || i == len(all)-1 || x-lastX >= curveStepDecades || y-lastY >= curveHeightDecades {
			curve.Below = append(curve.Below, below)
			curve.ValueNs = append(curve.ValueNs, point.ValueNs)
			lastX, lastY = x, y
		}
		below = point.Count
	}
	return curve
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
