// Package kbp has devices polled by the live patch of busypoll/kmod/kbp, on kernels that have no
// busy polling threads of their own: Linux 6.1 and 6.12, as Debian 12 and 13 have them.
//
// Build makes the module for a kernel, Load puts it into the running one, and Unload
// takes it out again. While it is loaded, each network namespace has a list of its
// devices' NAPI instances, and Poll and Leave choose among them: those three are of the
// calling thread's namespace, so call them from within netns.Namespace.Do.
//
// Nothing here remembers anything: what is polled is the kernel's to tell. Root is needed
// for all but Find.
package kbp
