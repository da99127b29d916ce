package extreme

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Goodness says how well a distribution fits the excesses it was fitted to.
type Goodness struct {
	// AndersonDarling (A²) weighs the tails, CramerVonMises (W²) the middle. P is the chance of a
	// statistic this large if the distribution is true.
	AndersonDarling  float64 `json:"anderson_darling"`
	AndersonDarlingP float64 `json:"anderson_darling_p"`
	CramerVonMises   float64 `json:"cramer_von_mises"`
	CramerVonMisesP  float64 `json:"cramer_von_mises_p"`
	// QQCorrelation compares the excesses with the distribution's quantiles: 1 is a line.
	QQCorrelation float64 `json:"qq_correlation"`
	// By names the source of P: "table" or "bootstrap".
	By string `json:"p_by"`
}

// Holds reports whether neither statistic rejects the fit at the level 0.05.
func (g Goodness) Holds() bool {
	return g.AndersonDarlingP >= goodnessLevel && g.CramerVonMisesP >= goodnessLevel
}

const goodnessLevel = 0.05

// criticalP are the chances of the columns below.
var criticalP = []float64{0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.001}

// critical has the points that A² and W² exceed with these chances where both
// parameters were estimated from excesses of a shape: Choulakian and Stephens 2001,
// "Goodness-of-fit tests for the generalized Pareto distribution", Technometrics 43(4),
// table 2; their k is −ξ. TestCriticalPoints simulates them.
var critical = []struct {
	shape  float64
	a2, w2 [8]float64
}{
	{0.9, [8]float64{0.339, 0.471, 0.641, 0.771, 0.905, 1.086, 1.226, 1.559}, [8]float64{0.046, 0.067, 0.094, 0.115, 0.136, 0.165, 0.187, 0.239}},
	{0.5, [8]float64{0.356, 0.499, 0.685, 0.830, 0.978, 1.180, 1.336, 1.707}, [8]float64{0.049, 0.072, 0.101, 0.124, 0.147, 0.179, 0.204, 0.264}},
	{0.2, [8]float64{0.376, 0.534, 0.741, 0.903, 1.069, 1.296, 1.471, 1.893}, [8]float64{0.053, 0.078, 0.111, 0.137, 0.164, 0.200, 0.228, 0.294}},
	{0.1, [8]float64{0.386, 0.550, 0.766, 0.935, 1.110, 1.348, 1.532, 1.966}, [8]float64{0.055, 0.081, 0.116, 0.144, 0.172, 0.210, 0.240, 0.310}},
	{0, [8]float64{0.397, 0.569, 0.796, 0.974, 1.158, 1.409, 1.603, 2.064}, [8]float64{0.057, 0.086, 0.124, 0.153, 0.183, 0.224, 0.255, 0.330}},
	{-0.1, [8]float64{0.410, 0.591, 0.831, 1.020, 1.215, 1.481, 1.687, 2.176}, [8]float64{0.059, 0.089, 0.130, 0.160, 0.192, 0.236, 0.270, 0.351}},
	{-0.2, [8]float64{0.426, 0.617, 0.873, 1.074, 1.283, 1.567, 1.788, 2.314}, [8]float64{0.062, 0.094, 0.137, 0.171, 0.206, 0.254, 0.291, 0.380}},
	{-0.3, [8]float64{0.445, 0.649, 0.924, 1.140, 1.365, 1.672, 1.909, 2.475}, [8]float64{0.065, 0.100, 0.147, 0.184, 0.223, 0.276, 0.317, 0.415}},
	{-0.4, [8]float64{0.468, 0.688, 0.985, 1.221, 1.465, 1.799, 2.058, 2.674}, [8]float64{0.069, 0.107, 0.159, 0.201, 0.244, 0.303, 0.349, 0.458}},
	{-0.5, [8]float64{0.496, 0.735, 1.061, 1.321, 1.590, 1.958, 2.243, 2.922}, [8]float64{0.074, 0.116, 0.174, 0.222, 0.271, 0.338, 0.390, 0.513}},
}

// criticalChance looks a statistic up: linear between shapes, log-linear between chances. Beyond
// the table it extrapolates from the last two columns.
func criticalChance(statistic, shape float64, darling bool) float64 {
	shape = min(max(shape, critical[len(critical)-1].shape), critical[0].shape)
	row := 0
	for row < len(critical)-2 && critical[row+1].shape > shape {
		row++
	}
	above, below := critical[row], critical[row+1]
	part := (above.shape - shape) / (above.shape - below.shape)
	points := make([]float64, len(criticalP))
	for i := range points {
		a, b := above.w2[i], below.w2[i]
		if darling {
			a, b = above.a2[i], below.a2[i]
		}
		points[i] = a + part*(b-a)
	}
	i := 0
	for i < len(points)-2 && statistic > points[i+1] {
		i++
	}
	slope := math.Log(criticalP[i+1]/criticalP[i]) / (points[i+1] - points[i])
	return min(criticalP[i]*math.Exp(slope*(statistic-points[i])), 1)
}

// uniform returns the chances F(y) of rising excesses: evenly spread if the fit is true.
func uniform(rising []float64, d Pareto) []float64 {
	z := make([]float64, len(rising))
	for i, y := range rising {
		// An excess at the distribution's end must not make a statistic infinite.
		z[i] = min(max(1-d.Survival(y), 1e-12), 1-1e-12)
	}
	return z
}

// andersonDarling computes A² of rising chances (Stephens 1974).
func andersonDarling(z []float64) float64 {
	n, sum := len(z), 0.0
	for i := range z {
		sum += float64(2*i+1) * (math.Log(z[i]) + math.Log1p(-z[n-1-i]))
	}
	return -float64(n) - sum/float64(n)
}

func cramerVonMises(z []float64) float64 {
	n := float64(len(z))
	sum := 1 / (12 * n)
	for i := range z {
		d := z[i] - float64(2*i+1)/(2*n)
		sum += d * d
	}
	return sum
}

// goodness tests a fit to independent excesses with the table.
func goodness(ys []float64, d Pareto) Goodness {
	rising := slices.Clone(ys)
	slices.Sort(rising)
	z := uniform(rising, d)
	g := Goodness{AndersonDarling: andersonDarling(z), CramerVonMises: cramerVonMises(z),
		QQCorrelation: qqCorrelation(rising, d), By: "table"}
	g.AndersonDarlingP = criticalChance(g.AndersonDarling, d.Shape, true)
	g.CramerVonMisesP = criticalChance(g.CramerVonMises, d.Shape, false)
	return g
}

func qqCorrelation(rising []float64, d Pareto) float64 {
	n := float64(len(rising))
	var sx, sy, sxx, syy, sxy float64
	unit := Pareto{d.Shape, 1} // so that squares stay in range
	for i, y := range rising {
		y /= d.Scale
		x := unit.Exceeded(1 - (float64(i)+0.5)/n)
		sx, sy, sxx, syy, sxy = sx+x, sy+y, sxx+x*x, syy+y*y, sxy+x*y
	}
	spread := (sxx - sx*sx/n) * (syy - sy*sy/n)
	if spread <= 0 {
		return 0
	}
	return (sxy - sx*sy/n) / math.Sqrt(spread)
}

// clusteredGoodness tests a fit to clustered excesses, for which the table does not hold. It
// resamples whole clusters and fits them. The difference between a draw's distance from its own fit
// and the sample's distance from its fit shows how far chance takes it (Babu and Rao 2004,
// "Goodness-of-fit tests when parameters are estimated"; drawing whole clusters as in Künsch 1989).
func clusteredGoodness(groups [][]Point, threshold float64, d Pareto, draws int, random *rand.Rand) Goodness {
	var ys []float64
	for _, group := range groups {
		ys = append(ys, excesses(group, threshold)...)
	}
	slices.Sort(ys)
	g := goodness(ys, d)
	g.By = "bootstrap"
	n := len(ys)
	z := uniform(ys, d)
	distance := make([]float64, n) // empirical − fitted, at each excess
	var a2, w2 float64
	add := func(distances []float64) (a2, w2 float64) {
		for i, v := range distances {
			w2 += v * v
			a2 += v * v / (z[i] * (1 - z[i]))
		}
		return a2, w2
	}
	for i := range ys {
		distance[i] = (float64(i)+0.5)/float64(n) - z[i]
	}
	a2, w2 = add(distance)
	moreA, moreW, fitted := 0, 0, 0
	drawn, centred := make([]float64, 0, 2*n), make([]float64, n)
	for range draws {
		drawn = drawn[:0]
		for range groups {
			drawn = append(drawn, excesses(groups[random.IntN(len(groups))], threshold)...)
		}
		slices.Sort(drawn)
		again, ok := fitPareto(drawn)
		if !ok {
			continue
		}
		fitted++
		below := 0
		for i, y := range ys {
			start := below
			for below < len(drawn) && drawn[below] <= y {
				below++
			}
			// Midway through a step, as above.
			empirical := (float64(start) + float64(below)) / 2 / float64(len(drawn))
			centred[i] = empirical - (1 - again.Survival(y)) - distance[i]
		}
		a, w := add(centred)
		if a >= a2 {
			moreA++
		}
		if w >= w2 {
			moreW++
		}
	}
	g.AndersonDarlingP = float64(moreA+1) / float64(fitted+1)
	g.CramerVonMisesP = float64(moreW+1) / float64(fitted+1)
	return g
}
