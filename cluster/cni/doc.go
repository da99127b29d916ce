// Package cni is the CNI plugin nines: it gives pods ports of their node where there is no dynamic
// resource allocation. Container runtimes call it by themselves, or Multus does.
//
// It speaks version 1.1.0 of CNI's specification, and those before. An attachment holds its port as long
// as CNI says that it is there: package port keeps who has which. Addresses come from the IPAM plugin that
// the network names.
package cni
