// Package device gives a node's ports to the kubelet as devices, for clusters without dynamic resource
// allocation: a device plugin, which counts them and says which one a container gets. The port itself is
// made by the CNI plugin, which Multus calls with the device's name
// (k8s.v1.cni.cncf.io/resourceName of a NetworkAttachmentDefinition).
package device
