// Package napi lists and sets the NAPI instances of network devices, through which the
// kernel polls a driver's receive queues, and the device settings that affect polling. It
// also reports whether a veth accepts redirected frames. It uses netlink family "netdev"
// (Documentation/netlink/specs/netdev.yaml), sysfs and ethtool.
//
// Names and indexes of devices are those of the calling thread's network namespace: call it
// from within netns.Namespace.Do. Reading needs no privileges; setting needs CAP_NET_ADMIN,
// and sysfs of another namespace CAP_SYS_ADMIN.
package napi
