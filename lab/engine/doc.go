// Package engine starts the engines that serve nodes' apps, and says what an engine in a node has to open for an
// interface: a kernel device, a DPDK device or what a pod claims.
package engine
