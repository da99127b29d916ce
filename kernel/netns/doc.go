// Package netns runs code and opens sockets in the network namespaces of a lab's nodes, and
// waits for the kernel to remove them.
//
// A namespace is found through a process in it (its PID 1), so no bind mount is needed. A
// thread that enters a namespace is locked to its goroutine until it is back; if it cannot
// go back it is never used again. Needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
package netns
