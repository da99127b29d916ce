// Package local makes a Kubernetes cluster on one machine, for tests, tries and teaching: real
// kubelets with containerd and runc, each node in namespaces and control groups of its own, and
// the control plane in another. It is undone like a lab.
//
//	┌ control ─────────────────────────────────┐   ┌ n1 ────────────────────────────┐
//	│ etcd, API server, controllers, scheduler │   │ containerd, kubelet            │
//	│ bridge "nodes" ──────────────────────────┼───┼ eth0                           │
//	└──────▲───────────────────────────────────┘   │ cni0 ── pods                   │
//	       │ relay, from 127.0.0.1 of the host     └────────────────────────────────┘
//
// Nothing of it is in the host's own namespaces but the relay, by which kubectl reaches the API
// server. A part (control or a node) sees the host's files read-only, with file systems in memory
// where its programs write, so it leaves nothing, and a cluster does not outlive a reboot.
//
// What is made is written to a journal first. A part's processes end with its first one, and its
// mounts and devices with the last: to undo a cluster is to end its first processes and the relay,
// and to remove control groups. It works after kill -9 at any moment.
//
// It needs root, and control groups of version 2 or 1 (see Check).
package local
