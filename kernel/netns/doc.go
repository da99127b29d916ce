// Package netns works in the network namespaces of a lab's nodes: it runs code
// and opens sockets in them, and waits for the kernel to take them down.
//
// A namespace is named by a process that lives in it (its pid 1), so nothing has
// to be bind-mounted. A thread that enters a namespace is locked to its goroutine
// until it is back; if it cannot go back it is never used again. Needs
// CAP_SYS_ADMIN and CAP_NET_ADMIN.
package netns
