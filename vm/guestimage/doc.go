// Package guestimage makes what guests boot from, out of Debian's packages: kernels with their
// modules, an initramfs, root file systems, and disks with files of the host.
//
// A Store is a folder that caches these. Each is made under a temporary name and renamed
// when it is complete, so that the rest of a killed build is never used; the next build
// removes it. Builds of the same image wait for each other, also across processes.
//
// The packages come from the sources of the host's apt, or from NINES_DEBIAN_MIRROR. Needs
// root, apt, mmdebstrap, e2fsprogs and xz, and the network for what is not cached.
package guestimage
