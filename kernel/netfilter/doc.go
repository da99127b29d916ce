// Package netfilter lists the rules of packet filters in the calling thread's network namespace: of nftables, which
// today's iptables writes too, and of the older iptables. It needs root, and loads no module of the kernel: where one is
// not loaded there are no rules of it.
package netfilter
