package extreme

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// spread returns values of a distribution at chances spaced by the golden ratio, which another
// language can reproduce.
func spread(n int, d Pareto) []float64 {
	ys := make([]float64, n)
	for i := range ys {
		_, u := math.Modf(float64(i+1) * 0.6180339887498949)
		ys[i] = d.Exceeded(1 - u)
	}
	return ys
}

// Recorded with SciPy 1.17.1 for the same values y, of shape xi and scale 1000:
//
//	c, _, scale = scipy.stats.genpareto.fit(y, xi, floc=0, scale=1000)
//	scipy.optimize.minimize(lambda p: genpareto.nnlf((p[0], 0, exp(p[1])), y), [c, log(scale)], method="Nelder-Mead")
//
// A² is from its definition, W² from scipy.stats.cramervonmises.
func TestFitAgreesWithSciPy(t *testing.T) {
	for _, c := range []struct {
		n                           int
		xi                          float64
		shape, scale, logLikelihood float64
		a2, w2                      float64
	}{
		{100, 0.2, 0.131507, 1048.0135, -808.61588, 0.0311394, 0.0039343},
		{1000, 0.2, 0.200881, 999.4880, -8108.12383, 0.0032320, 0.0002023},
		{1000, -0.2, -0.200749, 1000.9949, -7708.00076, 0.0033955, 0.0002368},
		{1000, 0, 0.000348, 999.9588, -7908.06254, 0.0032053, 0.0001999},
		{500, 0.7, 0.689527, 1003.3385, -4300.30766, 0.0077402, 0.0006195},
		{200, -0.4, -0.424458, 1027.3846, -1502.06276, 0.0257337, 0.0029700},
	} {
		ys := spread(c.n, Pareto{c.xi, 1000})
		fit, ok := fitPareto(ys)
		if !ok {
			t.Errorf("%d of shape %g: no fit", c.n, c.xi)
			continue
		}
		if math.Abs(fit.Shape-c.shape) > 1e-5 || math.Abs(fit.Scale/c.scale-1) > 1e-5 || math.Abs(fit.LogLikelihood-c.logLikelihood) > 1e-4 {
			t.Errorf("%d of shape %g: %+v, SciPy has %g, %g, %g", c.n, c.xi, fit, c.shape, c.scale, c.logLikelihood)
		}
		if got := fit.logLikelihood(ys); math.Abs(got-fit.LogLikelihood) > 1e-6 {
			t.Errorf("the fit says likelihood %g, the distribution %g", fit.LogLikelihood, got)
		}
		g := goodness(ys, fit.Pareto)
		if math.Abs(g.AndersonDarling-c.a2) > 1e-5 || math.Abs(g.CramerVonMises-c.w2) > 1e-6 {
			t.Errorf("%d of shape %g: A² %.7f, W² %.7f, want %.7f, %.7f", c.n, c.xi, g.AndersonDarling, g.CramerVonMises, c.a2, c.w2)
		}
		if g.QQCorrelation < 0.99 || !g.Holds() {
			t.Errorf("values that are spread by the distribution itself do not fit it: %+v", g)
		}
	}
}

// The standard errors match the spread of the estimates over many samples.
func TestFitRecoversKnownParameters(t *testing.T) {
	const cases, n = 400, 500
	random := rand.New(rand.NewPCG(3, 3))
	for _, shape := range []float64{-0.3, 0, 0.25, 0.6} {
		within, sum := 0, 0.0
		for range cases {
			ys := make([]float64, n)
			for i := range ys {
				ys[i] = Pareto{shape, 250}.Exceeded(1 - random.Float64())
			}
			fit, ok := fitPareto(ys)
			if !ok {
				t.Fatalf("shape %g: no fit", shape)
			}
			sum += fit.Shape / cases
			if math.Abs(fit.Shape-shape) < 1.96*fit.ShapeError && math.Abs(fit.Scale-250) < 2.58*fit.ScaleError {
				within++
			}
		}
		// Both at once: expect about 0.95.
		if share := float64(within) / cases; share < 0.90 || share > 0.985 {
			t.Errorf("shape %g: %.3f of the fits are within their errors", shape, share)
		}
		if math.Abs(sum-shape) > 0.02 {
			t.Errorf("shape %g: the mean of the fits is %.3f", shape, sum)
		}
	}
}

// Block maxima have a generalised extreme value distribution, and exceedances of a high threshold a
// generalised Pareto distribution of the same shape (Coles, theorem 4.1).
func TestExceedancesOfGEVHaveItsShape(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	for _, shape := range []float64{-0.2, 0.15, 0.4} {
		values := make([]float64, 200_000)
		for i := range values {
			values[i] = (math.Pow(random.ExpFloat64(), -shape) - 1) / shape
		}
		slices.Sort(values)
		threshold := values[len(values)-2001]
		ys := make([]float64, 2000)
		for i := range ys {
			ys[i] = values[len(values)-2000+i] - threshold
		}
		fit, ok := fitPareto(ys)
		if !ok || math.Abs(fit.Shape-shape) > 3*fit.ShapeError {
			t.Errorf("shape %g: fit %+v", shape, fit)
		}
	}
}

func TestFitRefusesWhatHasNoMaximum(t *testing.T) {
	for name, ys := range map[string][]float64{
		"none": nil, "one": {5}, "equal": {5, 5, 5, 5, 5, 5}, "zeros": {0, 0, 0},
		"dense at their end": {1, 9.9, 9.95, 9.98, 9.99, 9.995, 9.999, 9.9999, 10, 10},
	} {
		if fit, ok := fitPareto(ys); ok {
			t.Errorf("%s: %+v", name, fit)
		}
	}
}

func TestParetoInverts(t *testing.T) {
	for _, d := range []Pareto{{-0.4, 7}, {0, 7}, {1e-12, 7}, {0.3, 7}, {1.2, 7}} {
		for _, q := range []float64{1, 0.5, 1e-3, 1e-7} {
			if got := d.Survival(d.Exceeded(q)); math.Abs(got/q-1) > 1e-6 {
				t.Errorf("%+v: P(Y > y) is %g at the y for %g", d, got, q)
			}
		}
	}
	if (Pareto{-0.5, 1}).Survival(3) != 0 || (Pareto{0.5, 1}).Survival(-1) != 1 {
		t.Error("outside its range a chance is neither 0 nor 1")
	}
}

// Samples of every shape in the table exceed its critical points as often as it states, even with
// 100 values. The tolerance is 4 standard errors plus the deviation of a finite sample. Towards
// −0.5 the estimate of the end converges slowly and the points are exceeded less often, so a fit is
// refused less often than it could be; at −0.5 all are refused (leastShape).
func TestCriticalPoints(t *testing.T) {
	const cases = 2000
	random := rand.New(rand.NewPCG(4, 4))
	for _, row := range critical {
		for _, n := range []int{100, 400} {
			if row.shape <= leastShape || row.shape < -0.35 && n < 400 {
				continue
			}
			ys := make([]float64, n)
			var more [2][3]int
			fitted := 0
			for range cases {
				for i := range ys {
					ys[i] = Pareto{row.shape, 1}.Exceeded(1 - random.Float64())
				}
				fit, ok := fitPareto(ys)
				if !ok {
					continue
				}
				fitted++
				slices.Sort(ys)
				z := uniform(ys, fit.Pareto)
				a2, w2 := andersonDarling(z), cramerVonMises(z)
				for i, column := range []int{0, 2, 3} {
					if a2 > row.a2[column] {
						more[0][i]++
					}
					if w2 > row.w2[column] {
						more[1][i]++
					}
				}
			}
			if fitted < cases*95/100 {
				t.Errorf("shape %g: only %d of %d have a fit", row.shape, fitted, cases)
			}
			for i, column := range []int{0, 2, 3} {
				p := criticalP[column]
				tolerance := 4*math.Sqrt(p*(1-p)/cases) + 0.05*p
				for s, name := range []string{"A²", "W²"} {
					if got := float64(more[s][i]) / float64(fitted); math.Abs(got-p) > tolerance {
						t.Errorf("shape %g, %d values: %s exceeds its point for %g in %.4f of the cases", row.shape, n, name, p, got)
					}
				}
			}
		}
	}
}

func TestCriticalChanceGoesThroughTheTable(t *testing.T) {
	for _, row := range critical {
		for i, p := range criticalP {
			for darling, point := range map[bool]float64{true: row.a2[i], false: row.w2[i]} {
				if got := criticalChance(point, row.shape, darling); math.Abs(got/p-1) > 1e-9 {
					t.Errorf("shape %g: the chance of %g is %g, want %g", row.shape, point, got, p)
				}
			}
		}
	}
	if p := criticalChance(50, 0, true); p > 1e-6 || p <= 0 {
		t.Errorf("the chance of A² = 50 is %g", p)
	}
	if p := criticalChance(0.01, 0, true); p != 1 {
		t.Errorf("the chance of A² = 0.01 is %g", p)
	}
}
