// Package device offers a node's ports to the kubelet as devices, for clusters without dynamic resource
// allocation. It is a device plugin: it counts the ports, and tells a container which one it gets. The CNI
// plugin makes the port itself: Multus calls it with the device's name (k8s.v1.cni.cncf.io/resourceName of a
// NetworkAttachmentDefinition).
package device
