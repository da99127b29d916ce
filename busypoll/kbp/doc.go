// Package kbp polls devices with the live patch of busypoll/kmod/kbp, on kernels without
// busy polling threads: Linux 6.1 and 6.12 of Debian 12 and 13.
//
// Build makes the module for a kernel, Load loads it into the running one, and Unload
// removes it. While it is loaded, each network namespace has a list of its devices' NAPI
// instances, List, and Poll and Leave choose among them. These three work in the calling
// thread's namespace, so call them from within netns.Namespace.Do.
//
// This package keeps no state: the kernel says what is polled. All but Find needs root.
package kbp
