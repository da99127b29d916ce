package confidence

import "gonum.org/v1/gonum/mathext"

// Events bounds the expected number of what was counted, such as lost packets, where these come in clusters of a size:
// count/cluster are as many events of a Poisson process (Garwood 1936, "Fiducial limits for the Poisson distribution").
func Events(count, cluster, level float64) (low, high float64) {
	tail := (1 - level) / 2
	if count > 0 {
		low = cluster * mathext.GammaIncRegInv(count/cluster, tail)
	}
	return low, cluster * mathext.GammaIncRegInv(count/cluster+1, 1-tail)
}

// Cluster is the size of the cluster that an event is in, by how many events are in each block of time: see Blocks. It is
// at least 1, the size of independent events.
func Cluster(blocks []float64) float64 {
	var sum, squares, largest float64
	for _, w := range blocks {
		sum, squares, largest = sum+w, squares+w*w, max(largest, w)
	}
	if sum == 0 {
		return 1
	}
	return max((squares+largest*largest)/(sum+largest)-sum/float64(len(blocks)), 1)
}
