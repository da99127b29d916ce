// Package image makes what machines boot from, of Debian's packages: kernels with their
// modules, an initramfs, root file systems, and disks of files of the host's.
//
// A Store keeps what has been made in a folder, for the next time. What is made there is
// made beside its place and renamed when it is whole, so that what a killed build leaves
// is never used; the next build removes it. Builds of one store wait for each other,
// also those of other processes.
//
// The packages come from where the host's apt gets its own, or from NINES_DEBIAN_MIRROR.
// Needs root, apt, mmdebstrap, e2fsprogs and xz, and the network when something is not
// there yet.
package image
