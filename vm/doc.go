// Package vm runs virtual machines with QEMU, for `runtime: vm` and the virtual laboratory.
//
// A Config describes a machine completely. Arguments, a pure function, makes QEMU's command
// line from it; Start runs QEMU, waits for the guest's agent, and returns a Machine that
// can run commands. QEMU is a child of this process and ends with it in any case, unless
// the Config says Detached: then Attach finds it again by its folder.
//
// The folder (Config.Dir) holds the sockets of the agents and of QMP, and the console log.
// Two Starts must not share one. Several goroutines may call a Machine's methods.
//
// Needs QEMU 9.0 or newer (for igb, and for x2APIC of translated guests); for KVM also root or membership
// of the group kvm.
package vm
