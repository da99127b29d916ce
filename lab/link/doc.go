// Package link makes the links of a lab, with one file per kind, and sets up their ends in the
// nodes.
//
// Devices are made directly in the namespace that they belong to, with their final names, so the
// host's own namespace never sees them. What a kind needs between its endpoints (a bridge, the far
// ends of veth pairs) is made in the lab's fabric namespace. Offloads that would falsify a
// measurement are turned off, read back and recorded as settings. Needs CAP_NET_ADMIN, and
// CAP_SYS_ADMIN to enter namespaces.
package link
