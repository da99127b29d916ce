// Package scheduler is the plugin of Kubernetes' scheduler that places pods by measured latency.
//
// A pod without a latency request (package request) passes through it untouched, but for a score that keeps it
// away from fast nodes. A pod with one:
//
//	PreFilter   reads the request, once
//	Filter      holds each node's figures against it
//	PostFilter  tells which nodes came nearest, where none suits
//	Score       prefers the slowest tier that holds, so that the faster stay free
//	Reserve     looks again, and remembers the tier until the pod is bound
//	PreBind     looks again: a figure that is gone by then sends the pod back to the queue
//	Bind        looks at the pod's devices and a last time at the figures, binds, and in the same call
//	            writes what the node promised onto the pod
//
// A pod that found no node waits in the queue until a figure, a node, a label or a freed port may
// help it: the framework's hints tell of all but the figures (hint.go), which the plugin watches
// itself (waiting.go).
//
// Ports as devices are counted by Kubernetes' own dynamic resource allocation, never here; the
// ports of the thesis's label dpdk are counted each time from the pods of the node that the
// scheduler knows, so there is no count that could be lost.
package scheduler
