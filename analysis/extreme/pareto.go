package extreme

import "math"

// Pareto is a generalised Pareto distribution of how far values exceed a threshold:
// P(Y > y) = (1 + Shape·y/Scale)^(−1/Shape), and exp(−y/Scale) for Shape 0.
type Pareto struct {
	// Shape (ξ) has no unit: below 0 the tail ends at −Scale/Shape, at 0 it is exponential, above 0
	// it falls like a power.
	Shape float64 `json:"shape"`
	// Scale (σ) has the unit of the values.
	Scale float64 `json:"scale"`
}

// nearlyExponential is the shape below which the power is computed as an exponential: they differ
// by less than the rounding error.
const nearlyExponential = 1e-9

// Survival is P(Y > y).
func (d Pareto) Survival(y float64) float64 {
	if y <= 0 {
		return 1
	}
	if math.Abs(d.Shape) < nearlyExponential {
		return math.Exp(-y / d.Scale)
	}
	x := d.Shape * y / d.Scale
	if x <= -1 {
		return 0
	}
	return math.Exp(-math.Log1p(x) / d.Shape)
}

// Exceeded is the y that is exceeded with chance q, 0 < q ≤ 1: the inverse of Survival.
func (d Pareto) Exceeded(q float64) float64 {
	if math.Abs(d.Shape) < nearlyExponential {
		return -d.Scale * math.Log(q)
	}
	return d.Scale * math.Expm1(-d.Shape*math.Log(q)) / d.Shape
}

// logLikelihood of excesses; −∞ if one of them is impossible.
func (d Pareto) logLikelihood(excesses []float64) float64 {
	n := float64(len(excesses))
	if d.Scale <= 0 {
		return math.Inf(-1)
	}
	if math.Abs(d.Shape) < nearlyExponential {
		sum := 0.0
		for _, y := range excesses {
			sum += y
		}
		return -n*math.Log(d.Scale) - sum/d.Scale
	}
	logs := sumLog1p(excesses, d.Shape/d.Scale)
	return -n*math.Log(d.Scale) - (1+1/d.Shape)*logs
}

// sumLog1p is Σ log(1 + t·y). It is +∞, not NaN, if a term is not positive, so that the likelihood
// becomes −∞ for shapes above −1.
//
// It is one logarithm of a product, whose exponent is counted apart: a factor is between 1e-16 and, for
// these shapes and samples, 1e12, so eight of them stay in range.
func sumLog1p(ys []float64, t float64) float64 {
	product, exponents := 1.0, 0
	for ; len(ys) >= 8; ys = ys[8:] {
		a, b, c, d := 1+t*ys[0], 1+t*ys[1], 1+t*ys[2], 1+t*ys[3]
		e, f, g, h := 1+t*ys[4], 1+t*ys[5], 1+t*ys[6], 1+t*ys[7]
		if a <= 0 || b <= 0 || c <= 0 || d <= 0 || e <= 0 || f <= 0 || g <= 0 || h <= 0 {
			return math.Inf(1)
		}
		// In pairs, as the CPU multiplies side by side what does not wait for each other.
		mantissa, exponent := split(((a * b) * (c * d)) * ((e * f) * (g * h)))
		product *= mantissa
		exponents += exponent
		if product > 0x1p512 {
			product, exponent = split(product)
			exponents += exponent
		}
	}
	for _, y := range ys {
		term := 1 + t*y
		if term <= 0 {
			return math.Inf(1)
		}
		product *= term
	}
	return math.Log(product) + float64(exponents)*math.Ln2
}

// split takes a positive number apart: it is the mantissa, from 1 to below 2, times 2 to the exponent.
func split(x float64) (mantissa float64, exponent int) {
	const mantissaBits, bias = 52, 1023
	bits := math.Float64bits(x)
	exponent = int(bits>>mantissaBits) - bias
	return math.Float64frombits(bits - uint64(exponent)<<mantissaBits), exponent
}
