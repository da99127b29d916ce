// Package host describes a machine as plain data: its CPUs, memory, network
// cards, kernel and what the kernel can do.
//
// Read takes the inventory from /proc and /sys in some milliseconds, without privileges and
// without changing anything. Probe finds what only a try can show: it tries in its own
// temporary network namespace. Check compares an inventory with what an experiment needs.
//
// All reading goes through a Tree, so that a machine can be recorded once and read again
// elsewhere, as the package's tests do.
package host
