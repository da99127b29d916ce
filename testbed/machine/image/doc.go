// Package image makes what machines boot from, of Debian's packages: kernels with their
// modules, an initramfs, and root file systems.
package image
