// Command bench measures nines and its peers, and prints each figure as a ratio of the same run:
// make bench. Peers and nines alternate in each round, so that drift of the host affects both, and
// the median round counts.
//
// It needs root, two CPUs, and the peers from Debian: sockperf and mininet. It names a peer that is
// not installed, and leaves out its rows.
package main
