// Package tune knows the settings of a Linux host that decide how long its tail is:
// what each does, what it costs, since which kernel there is one, and who says so.
//
// Settings is pure: a host's inventory, the chosen CPUs and a profile give the list of
// what is wanted. BootParameters is its twin for what only the kernel's command line
// can do. An Applier makes settings real through a journal (package journal), so that
// they are put back to the last value after any crash; it needs root.
//
// Package isolate describes what it moves away from a node's CPUs with the same
// Setting, and applies it with the same Applier.
package tune
