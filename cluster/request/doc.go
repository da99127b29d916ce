// Package request reads a pod's latency request, what the pod asks of the network: its annotations, as
// a value that the scheduler holds against figures. It is pure, and safe for concurrent use.
package request
