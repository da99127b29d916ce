// Package agent is what runs on every node of a cluster: it finds out what the node has, measures
// what latency its tiers have (package measure), and tells the cluster: by a NodeLatency object,
// labels and a condition of the node, and by metrics.
//
// It keeps no state of its own. The object that it has published tells it after a restart when it
// measured last, so that restarts do not make it measure more.
package agent
