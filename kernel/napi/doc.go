// Package napi lists and sets the NAPI instances of network devices, by which a driver's
// receive queues are polled, and what of the devices decides how they are, and tells
// whether a veth takes redirects: by netlink family "netdev"
// (Documentation/netlink/specs/netdev.yaml), sysfs and ethtool.
//
// Names and numbers of devices are those of the calling thread's network namespace: call
// it from within netns.Namespace.Do. Reading needs no privileges, setting CAP_NET_ADMIN,
// and sysfs of another namespace CAP_SYS_ADMIN.
package napi
