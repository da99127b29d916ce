package extreme

import (
	"math"
	"slices"
)

// clusters are exceedances that came together: one pause delays every packet in it.
type clusters struct {
	// Index is the extremal index: 1 for exceedances that are independent of each other,
	// 1/m for clusters of m on average.
	Index float64
	// RunNs is the time without an exceedance that ends a cluster.
	RunNs int64
	// Groups are the clusters, in the order of time, each in the order of time.
	Groups [][]Point
}

// independent is the extremal index from which exceedances count as independent: estimates from a
// thousand independent ones vary by some hundredths (see the tests).
const independent = 0.9

// cluster finds the extremal index by the intervals estimator (Ferro and Segers 2003, "Inference
// for clusters of extreme values", equation 5), which needs no parameter. The index gives the run
// that separates clusters (their section 4): of n exceedances in c = θn clusters, the c−1 longest
// gaps are the ones between clusters. rate is the rate of all values, per nanosecond.
func cluster(points []Point, rate float64) clusters {
	n := len(points)
	single := clusters{Index: 1}
	for i := range points {
		single.Groups = append(single.Groups, points[i:i+1])
	}
	if n < 3 {
		return single
	}
	times := make([]int64, n-1)
	var sum, squares, sum1, squares1, longest float64
	for i := range times {
		times[i] = points[i+1].AtNs - points[i].AtNs
		t := float64(times[i]) * rate // in values
		longest = max(longest, t)
		sum += t
		squares += t * t
		sum1 += max(t-1, 0)
		squares1 += max((t-1)*(t-2), 0)
	}
	var index float64
	switch {
	case squares == 0:
		index = 1 / float64(n) // all at once
	case longest <= 2:
		index = 2 * sum * sum / (float64(n-1) * squares)
	default:
		index = 2 * sum1 * sum1 / (float64(n-1) * squares1)
	}
	index = min(index, 1)
	if index >= independent {
		single.Index = index
		return single
	}
	count := max(int(math.Ceil(index*float64(n))), 1)
	sorted := slices.Clone(times)
	slices.SortFunc(sorted, func(a, b int64) int { return int(min(max(b-a, -1), 1)) })
	// The run is the longest gap inside a cluster: place c in falling order.
	found := clusters{Index: index, RunNs: sorted[min(count-1, len(sorted)-1)]}
	begin := 0
	for i, t := range times {
		if t > found.RunNs {
			found.Groups = append(found.Groups, points[begin:i+1])
			begin = i + 1
		}
	}
	found.Groups = append(found.Groups, points[begin:])
	return found
}

// maxima returns the largest point of each cluster.
func (c clusters) maxima() []Point {
	points := make([]Point, len(c.Groups))
	for i, group := range c.Groups {
		points[i] = group[0]
		for _, p := range group[1:] {
			if p.Value > points[i].Value {
				points[i] = p
			}
		}
	}
	return points
}

// clustered reports whether exceedances depend on each other.
func (c clusters) clustered() bool { return c.Index < independent }
