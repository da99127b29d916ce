// Package vm runs virtual machines with QEMU: what `runtime: vm` and the virtual
// laboratory are made of.
//
// A Config is all that a machine is. Arguments makes QEMU's command line of it, a pure
// function; Start runs QEMU, waits for the guest's agent, and returns a Machine in which
// commands can be run. QEMU is a child of this process and ends with it, however it
// ends, unless the Config says Detached: then Attach finds it again by its folder.
//
// The folder (Config.Dir) holds the sockets of the agents and of QMP, and the console's
// log. Two Starts must not share one. A Machine's methods may be called from many
// goroutines.
//
// Needs QEMU 8.0 or later (for igb); with KVM, root or membership of its group.
package vm
