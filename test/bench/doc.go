// Command bench measures nines beside its peers and prints each figure as a
// ratio of the same run: make bench. Peers and nines take turns in each round,
// so that a host that drifts touches both, and the median round counts.
//
// It needs root, two CPUs, and the peers from Debian: sockperf and mininet. A
// peer that is not installed is named, and its rows are left out.
package main
