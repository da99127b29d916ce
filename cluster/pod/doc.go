// Package pod makes the pods of experiments, runs commands in them and removes them: what nines'
// runtime pod (lab/node/pod.go) asks of a cluster. Each function is a verb of nines-cluster, which
// nines starts as a process of its own.
//
// A pod is nines-init, which waits. Engines come into it by the API server's exec, and are driven
// over their standard input and output, so that nothing in the pod listens and no address of the
// cluster has to be reached but the API server's. A pod has no privilege and no token.
package pod
