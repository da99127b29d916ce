// Package busypoll has threads receive what devices get, in place of the softirqs that
// their interrupts raise, while applications keep their sockets: what the kernel busy
// poll of Fujimoto et al. (IEICE Trans. Commun., 2021) does by a live patch, on stock
// kernels. docs/busy-polling.md has the mechanisms and what they cost.
//
// A Setup is made in three steps. Probe asks the kernel what it has. Choose, a pure
// function, takes a mechanism of it. Site.Start makes the devices pollable, starts what
// polls, and journals each step before it is made, so that the undo of package journal
// puts all back: also after kill -9, and where the namespace is gone by then.
//
// It needs root: CAP_NET_ADMIN and CAP_SYS_ADMIN in the namespaces of the devices, and
// CAP_SYS_NICE for policies.
package busypoll
