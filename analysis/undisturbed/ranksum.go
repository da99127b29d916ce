package undisturbed

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// twoSamples counts whole numbers of two samples.
type twoSamples map[int]*[2]float64

func (t twoSamples) add(sample, value int) {
	both := t[value]
	if both == nil {
		both = new([2]float64)
		t[value] = both
	}
	both[sample]++
}

// differ is the p-value of the test of Mann and Whitney (1947) that one sample tends to larger values than the other:
// the normal approximation, with ties and a correction for continuity. larger is how often a value of the first is larger
// than one of the second, of equal ones half: 0.5 if the samples are alike.
func (t twoSamples) differ() (p, larger float64) {
	var n [2]float64
	for _, both := range t {
		n[0], n[1] = n[0]+both[0], n[1]+both[1]
	}
	all := n[0] + n[1]
	var u, below, ties float64 // u counts the pairs in which the first sample's value is larger
	for _, value := range slices.Sorted(maps.Keys(t)) {
		both := t[value]
		u += both[0] * (below + both[1]/2)
		below += both[1]
		tied := both[0] + both[1]
		ties += tied * (tied*tied - 1)
	}
	variance := n[0] * n[1] / 12 * (all + 1 - ties/(all*(all-1)))
	if !(variance > 0) {
		return 1, 0.5
	}
	z := max(math.Abs(u-n[0]*n[1]/2)-0.5, 0) / math.Sqrt(variance)
	return 2 * distuv.UnitNormal.Survival(z), u / (n[0] * n[1])
}
