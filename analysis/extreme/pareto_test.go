package extreme

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The logarithm of the product is the sum of the logarithms, for each number of factors, and for factors that leave the
// range of a product of a hundred of them.
func TestSumOfLogarithms(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 7))
	for n := range 200 {
		ys := make([]float64, n)
		for i := range ys {
			ys[i] = math.Exp(20*random.Float64() - 10)
		}
		for _, scale := range []float64{-1e-16, -4e-5, 0, 1e-9, 0.3, 1e7} {
			want := 0.0
			for _, y := range ys {
				want += math.Log1p(scale * y)
			}
			if got := sumLog1p(ys, scale); math.Abs(got-want) > 1e-11*max(1, math.Abs(want)) {
				t.Errorf("%d factors, t %g: %.17g, want %.17g", n, scale, got, want)
			}
		}
		for i, y := range ys {
			if got := sumLog1p(ys, -1.001/y); !math.IsInf(got, 1) {
				t.Errorf("%d factors, of which number %d is below 0: %g", n, i, got)
			}
		}
	}
}
