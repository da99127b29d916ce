package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"nines.dev/nines/result"
)

// TestAThinCurveIsExactWhereItIsRead: a figure must not show another value than the table beside it. The curve stays
// small nevertheless, as a page has thousands of them.
func TestAThinCurveIsExactWhereItIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{1, 2, 99, 1000, 300_000} {
		h := result.NewHistogram()
		for range count {
			h.Record(int64(20_000 * math.Exp(r.NormFloat64())))
		}
		curve := ThinCurve(h)
		for _, p := range result.NamedPercentiles() {
			want := p.Of(h.Percentiles())
			got, ok := curve.At(1 / (1 - p.P))
			if want != nil && (!ok || got != *want) {
				t.Errorf("%d samples: %s is %d, want %d", count, p.Name, got, *want)
			}
		}
		whole := &Curve{Count: h.Count()}
		below := uint64(0)
		for _, point := range h.Curve() {
			whole.Below, whole.ValueNs = append(whole.Below, below), append(whole.ValueNs, point.ValueNs)
			below = point.Count
		}
		for i := range int(math.Log10(float64(count)) * curvePerDecade) {
			x := math.Pow(10, float64(i)/curvePerDecade)
			if got, want := first(curve.At(x)), first(whole.At(x)); got != want {
				t.Errorf("%d samples at 1/(1-p) = %g: %d, want %d", count, x, got, want)
			}
		}
		if len(curve.Below) > 1000 {
			t.Errorf("%d samples have a curve of %d points", count, len(curve.Below))
		}
	}
}

func first(ns int64, _ bool) int64 { return ns }
