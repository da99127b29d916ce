// Package link makes the links of a lab, one file a kind, and sets up the nodes'
// ends of them.
//
// Devices are made directly in the namespace that they belong to, named finally, so
// the host's own namespace never sees them. What a kind needs between its endpoints
// (a bridge, the far ends of veth pairs) is made in the lab's fabric namespace.
// Offloads that would falsify a measurement are set deliberately, read back and
// recorded as settings. Needs CAP_NET_ADMIN, and CAP_SYS_ADMIN to enter namespaces.
package link
