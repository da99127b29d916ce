// Package diagnosis says of a pod, node by node, what prevents its latency request (nines cluster explain):
// the same comparison that the scheduler's plugin makes, and what else is plain to see of a node; and what
// each node has for the pod's claims of devices. The comparison is pure (Of); Read fetches what it needs from
// the API server.
package diagnosis
