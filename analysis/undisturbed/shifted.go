package undisturbed

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// shifted counts whole numbers of a sample, the first, and of the same sample after each shift.
type shifted map[int]*[1 + shifts]float64

func (s shifted) add(set, value int) {
	all := s[value]
	if all == nil {
		all = new([1 + shifts]float64)
		s[value] = all
	}
	all[set]++
}

// fewestShifts is how many sets must have enough values to tell how far they vary.
const fewestShifts = 12

// differ is the p-value that the first sample tends to other values than the shifted ones. Each set's rank among all
// shifted ones, as in the test of Mann and Whitney (1947), varies as much as chance and the rhythms of both make it;
// the first one's is compared by Student's t. larger is how often a value of the first is larger than one of those, of
// equal ones half: 0.5 if they are alike. tell is false for too few values.
func (s shifted) differ() (p, larger float64, tell bool) {
	var n, ranks [1 + shifts]float64
	var below, all float64
	for _, value := range slices.Sorted(maps.Keys(s)) {
		one := s[value]
		var here float64
		for _, count := range one[1:] {
			here += count
		}
		for k, count := range one {
			n[k] += count
			ranks[k] += count * (below + here/2)
		}
		below += here
	}
	all = below
	var of []float64
	for k := 1; k <= shifts; k++ {
		if n[k] >= fewestToTell/2 && n[k] >= n[0]/4 {
			of = append(of, ranks[k]/(n[k]*all))
		}
	}
	if n[0] < fewestToTell || len(of) < fewestShifts {
		return 1, 0.5, false
	}
	larger = ranks[0] / (n[0] * all)
	mean, spread := stat.MeanStdDev(of, nil)
	if larger == mean {
		return 1, larger, true
	}
	t := math.Abs(larger-mean) / (spread * math.Sqrt(1+1/float64(len(of))))
	student := distuv.StudentsT{Sigma: 1, Nu: float64(len(of) - 1)}
	return 2 * student.Survival(t), larger, true
}
