// Package controltest starts a real control plane for tests: etcd, the API server and the
// scheduler of nines-kube, as processes on the loopback device. It needs no root, no container
// and no kubelet: nodes are objects that the test makes.
//
//	test ── HTTPS, token ──> kube-apiserver ──> etcd
//	                              ^
//	                              └── HTTPS, token of system:kube-scheduler ── kube-scheduler
//
// The API server checks rights as in production, so that the plugin has those of its role and
// no more.
package controltest
