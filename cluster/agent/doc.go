// Package agent runs on every node of a cluster. It finds out what the node has, measures the latency of the
// node's tiers (package measure), and reports both to the cluster: in a NodeLatency object, in labels and
// conditions of the node, and as metrics.
//
// Apart from the spent budget it stores no state. After a restart it reads from its published object when it
// last measured, so restarts do not cause more measurements.
package agent
