// Package pci gives PCI functions of network cards to labs and takes them back. It makes
// virtual functions (VFs), configures them through their physical function (PF), binds
// functions to the kernel's drivers or to drivers for programs, and waits until the kernel
// is done. It needs root.
//
// A lab claims a function by a file in ClaimsDir, which labs of all state folders
// share. The function's earlier state is read under a lock on it, stored by the caller
// (package journal), and restored later; restoring twice, or restoring what was never
// changed, does nothing. The VFs of a PF are made for all labs together, because the kernel
// changes their number only by way of 0. A ledger next to the claims records which labs use
// them, and the last one restores the PF.
//
// This package works in the calling thread's network namespace, which must be the host's.
package pci
