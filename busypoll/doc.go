// Package busypoll lets threads receive a device's packets, instead of the softirqs that
// its interrupts raise, while applications keep their sockets. Fujimoto et al. (IEICE
// Trans. Commun., 2021) do this by a live patch, kernel busy poll; nines also does it on
// stock kernels. docs/busy-polling.md has the mechanisms and their costs.
//
// Setup has three steps. Probe asks the kernel for its features. Choose, a pure function,
// selects a mechanism. Site.Start prepares the devices, starts what polls, and journals
// each step before it is made, so that the undo of package journal restores everything,
// even after kill -9 or if the namespace is gone.
//
// It needs root: CAP_NET_ADMIN and CAP_SYS_ADMIN in the namespaces of the devices, and
// CAP_SYS_NICE for policies.
package busypoll
