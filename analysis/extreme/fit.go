package extreme

import (
	"math"
)

// Fit is a generalised Pareto distribution fitted to excesses, with standard errors from the
// curvature of the likelihood (Smith 1987, for shapes above −0.5).
type Fit struct {
	Pareto
	ShapeError float64 `json:"shape_error"`
	ScaleError float64 `json:"scale_error"`
	// LogLikelihood at the maximum.
	LogLikelihood float64 `json:"log_likelihood"`
}

// fitPareto finds the maximum likelihood fit for excesses (> 0). For a fixed t = ξ/σ the best shape
// is the mean of log(1 + t·y), so one dimension remains (Grimshaw 1993, "Computing maximum
// likelihood estimates for the generalized Pareto distribution"). It returns false if there is no
// maximum with ξ > −1: below that, the likelihood grows without bound towards the largest excess.
func fitPareto(excesses []float64) (Fit, bool) {
	n := float64(len(excesses))
	if len(excesses) < 2 {
		return Fit{}, false
	}
	most, mean := 0.0, 0.0
	for _, y := range excesses {
		most = max(most, y)
		mean += y / n
	}
	if mean <= 0 {
		return Fit{}, false
	}
	// In units of the mean, so that limits do not depend on the unit of the values.
	scaled := make([]float64, len(excesses))
	for i, y := range excesses {
		scaled[i] = y / mean
	}
	lowest := -mean / most
	profile := func(t float64) (value, shape float64) {
		if math.Abs(t) < 1e-7 {
			return -1, 0 // exponential with mean 1
		}
		shape = sumLog1p(scaled, t) / n
		if shape <= -1 {
			return math.Inf(-1), shape
		}
		return -math.Log(shape/t) - shape - 1, shape
	}
	// t = lowest + e^s: dense near the bound, where the likelihood changes fast.
	at := func(s float64) float64 { return lowest + math.Exp(s) }
	value := func(s float64) float64 { v, _ := profile(at(s)); return v }
	const from, to, steps = -12.0, 5.0, 24
	best, bestAt := math.Inf(-1), -1
	for i := 0; i <= steps; i++ {
		if v := value(from + (to-from)*float64(i)/steps); v > best {
			best, bestAt = v, i
		}
	}
	if bestAt <= 0 || bestAt == steps {
		return Fit{}, false
	}
	width := (to - from) / steps
	centre := from + (to-from)*float64(bestAt)/steps
	s := goldenMaximum(value, centre-width, centre+width, 1e-7)
	best, shape := profile(at(s))
	if math.IsInf(best, -1) || shape <= -0.999 {
		return Fit{}, false
	}
	scale := mean
	if shape != 0 {
		scale = shape / at(s) * mean
	}
	fit := Fit{Pareto: Pareto{Shape: shape, Scale: scale}}
	fit.LogLikelihood = n * (best - math.Log(mean))
	if shape > -0.5 {
		fit.ShapeError = (1 + shape) / math.Sqrt(n)
		fit.ScaleError = scale * math.Sqrt(2*(1+shape)/n)
	}
	return fit, true
}

// goldenMaximum finds the single maximum of a function between a and b by golden-section search to
// a tolerance; for a flat function, any point of it.
func goldenMaximum(of func(float64) float64, a, b, tolerance float64) float64 {
	const ratio = 0.6180339887498949
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	atC, atD := of(c), of(d)
	for b-a > tolerance {
		if atC > atD {
			b, d, atD = d, c, atC
			c = b - ratio*(b-a)
			atC = of(c)
		} else {
			a, c, atC = c, d, atD
			d = a + ratio*(b-a)
			atD = of(d)
		}
	}
	return (a + b) / 2
}
