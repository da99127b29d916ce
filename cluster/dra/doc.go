// Package dra gives the ports of a node to pods by dynamic resource allocation: it is the driver ports.nines.dev
// of resource.k8s.io, a plugin of the kubelet and of the container runtime.
//
//	ports file ─▸ ports ─┐
//	NodeLatency ─────────┼─▸ ResourceSlices ─▸ scheduler ─▸ claim ─▸ kubelet ─▸ Prepare ─▸ CDI
//	network cards ───────┘                                           runtime ─▸ sandbox ─▸ device
//
// Which ports a claim holds is recorded in the folder of package port and nowhere else. So the driver may end at
// any moment, and the next one continues: in memory it has only the figures that it has published.
//
// It needs root, the node's network namespace, and the folders of the kubelet, of CDI and of NRI.
package dra

// DriverName is the driver's name in claims and classes.
const DriverName = "ports.nines.dev"
