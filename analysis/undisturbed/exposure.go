package undisturbed

import (
	"slices"
	"sort"
)

// exposure is how likely a packet escapes all interruptions, by its latency: slow packets are hit more often than fast
// ones, so those that escape are too few.
type exposure struct {
	gaps []float64 // the times between stretches, in rising order
	// beyond[i] is the sum of gaps[i:].
	beyond []float64
	length float64
}

func newExposure(gapsNs []int64, lengthNs int64) exposure {
	e := exposure{gaps: make([]float64, len(gapsNs)), beyond: make([]float64, len(gapsNs)+1), length: float64(lengthNs)}
	for i, g := range gapsNs {
		e.gaps[i] = float64(g)
	}
	slices.Sort(e.gaps)
	for i := len(e.gaps) - 1; i >= 0; i-- {
		e.beyond[i] = e.beyond[i+1] + e.gaps[i]
	}
	return e
}

// escapes is the chance that a packet which is due at any time of the trial escapes: π(ℓ) = Σ max(g − ℓ, 0) / T over
// the times g between stretches.
func (e exposure) escapes(latencyNs float64) float64 {
	first := sort.SearchFloat64s(e.gaps, latencyNs)
	return (e.beyond[first] - latencyNs*float64(len(e.gaps)-first)) / e.length
}
