// Package component has the programs that a cluster is made of, as commands of one program:
// etcd, the API server, the controller manager, the scheduler, the kubelet and kubectl share
// most of their code, and so build and link once. They are those of the Kubernetes release in
// go.mod, unchanged.
package component
