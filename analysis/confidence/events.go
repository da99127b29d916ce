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
