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
func sumLog1p(ys []float64, t float64) float64 {
	sum, product := 0.0, 1.0
	for i, y := range ys {
		term := 1 + t*y
		if term <= 0 {
			return math.Inf(1)
		}
		product *= term
		// One logarithm for eight factors: a factor is between 1e-16 and, for these shapes and
		// samples, 1e12, so the product of eight stays in range.
		if i&7 == 7 {
			sum += math.Log(product)
			product = 1
		}
	}
	return sum + math.Log(product)
}
