// Package cni is the CNI plugin nines: it gives pods ports of their node in clusters without dynamic
// resource allocation. Container runtimes call it directly, or Multus does.
//
// It implements version 1.1.0 of the CNI specification and the versions before. An attachment holds its port
// until CNI deletes the attachment; package port records which holder has which port. Addresses come from
// the IPAM plugin that the network names.
package cni
