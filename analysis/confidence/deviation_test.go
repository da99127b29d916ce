package confidence

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCoverageOfTheDeviation: the interval holds the truth about as often as it says, also where tails are heavy.
func TestCoverageOfTheDeviation(t *testing.T) {
	const cases = 2000
	for name, kind := range map[string]struct {
		draw  func(*rand.Rand) float64
		truth float64
		least float64 // per cent
	}{
		"normal":      {func(r *rand.Rand) float64 { return r.NormFloat64() }, 1, 94},
		"uniform":     {func(r *rand.Rand) float64 { return r.Float64() }, 1 / math.Sqrt(12), 94},
		"exponential": {func(r *rand.Rand) float64 { return r.ExpFloat64() }, 1, 85},
	} {
		for _, size := range []struct{ groups, values int }{{1, 20}, {1, 60}, {6, 20}} {
			r := rand.New(rand.NewPCG(1, 2))
			within := 0
			for range cases {
				groups := make([][]float64, size.groups)
				for i := range groups {
					for range size.values {
						groups[i] = append(groups[i], 10*float64(i)+kind.draw(r))
					}
				}
				if value, low, high := Deviation(groups, Level); low <= kind.truth && kind.truth <= high && low <= value && value <= high {
					within++
				}
			}
			if percent := 100 * float64(within) / cases; percent < kind.least || percent > 99.5 {
				t.Errorf("%s, %+v: %.1f %%, want at least %g", name, size, percent, kind.least)
			} else {
				t.Logf("%s, %+v: %.1f %%", name, size, percent)
			}
		}
	}
}

func TestDeviationOfEqualValues(t *testing.T) {
	if value, low, high := Deviation([][]float64{{5, 5, 5, 5, 5, 5, 5, 5}}, Level); value != 0 || low != 0 || high != 0 {
		t.Errorf("%g (%g to %g)", value, low, high)
	}
}
