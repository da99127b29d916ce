package measure

import (
	"math"
	"slices"

	"nines.dev/nines/spec"
)

// fate is what a seed does to a packet. It is a second implementation, from docs/reference/engine-protocol.md, so that the
// engine is held against its description and not against itself.
type fate struct {
	lost, corrupted, reordered, duplicated bool
	delayNs                                float64
}

// The places of a packet's draws.
const (
	drawLoss = iota
	drawDuplicate
	drawReorder
	drawCorrupt
	_ // which bit
	drawDelay
	draws = drawDelay + 4 // two for the delay, two for the copy's
)

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// drawOf is above 0 and at most 1.
func drawOf(seed, number uint64, which uint64) float64 {
	const golden = 0x9e3779b97f4a7c15
	random := mix(mix(seed) + (number*draws+which+1)*golden)
	return float64(random>>11+1) / (1 << 53)
}

func fateOf(i spec.Impairment, number uint64) fate {
	seed := uint64(i.Seed)
	happens := func(which uint64, share float64) bool { return share > 0 && drawOf(seed, number, which) <= share }
	if happens(drawLoss, i.Loss) {
		return fate{lost: true}
	}
	f := fate{corrupted: happens(drawCorrupt, i.Corrupt), reordered: happens(drawReorder, i.Reorder), duplicated: happens(drawDuplicate, i.Duplicate)}
	if f.reordered {
		return f
	}
	u, away := drawOf(seed, number, drawDelay), 0.0
	switch i.Distribution {
	case spec.DistributionUniform:
		away = 2*u - 1
	case spec.DistributionNormal:
		away = math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*drawOf(seed, number, drawDelay+1))
	case spec.DistributionPareto:
		away = 4.0 / 3 * (math.Pow(u, -1.0/3) - 1.5)
	}
	f.delayNs = math.Round(float64(i.Delay) + float64(i.Jitter)*min(max(away, -4), 4))
	return f
}

// delayCDF is the share of delays of at most ns.
func delayCDF(i spec.Impairment, ns float64) float64 {
	away := (ns - float64(i.Delay)) / float64(i.Jitter)
	switch i.Distribution {
	case spec.DistributionNormal:
		if away >= 4 {
			return 1
		}
		return math.Erfc(-away/math.Sqrt2) / 2
	case spec.DistributionPareto:
		switch {
		case away <= -2.0/3:
			return 0
		case away >= 4:
			return 1
		}
		return 1 - math.Pow(away*3/4+1.5, -3)
	case spec.DistributionUniform:
	}
	return min(max((away+1)/2, 0), 1)
}

// distance is Kolmogorov and Smirnov's: the largest between the shares of a sample and of a
// distribution.
func distance(sample []float64, cdf func(float64) float64) float64 {
	sorted := slices.Clone(sample)
	slices.Sort(sorted)
	n, worst := float64(len(sorted)), 0.0
	for i, x := range sorted {
		is := cdf(x)
		worst = max(worst, math.Abs(is-float64(i)/n))
		if i+1 == len(sorted) || sorted[i+1] > x { // a step of the distribution is none of the sample
			worst = max(worst, math.Abs(is-float64(i+1)/n))
		}
	}
	return worst
}
