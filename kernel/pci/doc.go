// Package pci gives PCI functions of network cards to labs, and back: it makes virtual
// functions (VFs), sets them up through their physical one (PF), binds functions to the
// kernel's drivers or to those for programs, and waits for what the kernel does about
// it. It needs root.
//
// A lab claims a function by a file in host.ClaimsDir, which is the same for labs of
// every state folder. What a function was before is read under a lock on it, kept by
// the caller (package journal), and restored by it; to restore twice, or what was never
// changed, does nothing. The VFs of a PF are made for all labs together, since the
// kernel changes their number only by way of 0: a ledger beside the claims says who
// uses them, and the last one restores what the PF was.
//
// What is here works in the calling thread's network namespace, which has to be the
// host's.
package pci
