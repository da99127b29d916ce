// Package host describes a machine as plain data: its CPUs, memory, network
// cards, kernel and what the kernel can do.
//
// Read takes the inventory from /proc and /sys in some milliseconds, without
// privileges and without changing anything. What can be known only by trying is
// left to Probe, which tries in a network namespace of its own and throws that
// away. Check holds an inventory against what an experiment needs.
//
// All reading goes through a Tree, so that a machine can be recorded once and
// read again elsewhere; the package's tests do so.
package host
