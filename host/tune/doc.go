// Package tune knows the settings of a Linux host that affect tail latency: what each does,
// what it costs, since which kernel it exists, and the source of the advice.
//
// Settings is pure: it derives the list of wanted settings from a host's inventory, the
// chosen CPUs and a profile. BootParameters does the same for what only the kernel command
// line can set. An Applier makes settings through a journal (package journal), so that they
// are restored after any crash; it needs root.
//
// Package isolate describes what it moves off a node's CPUs with the same Setting, and
// applies it with the same Applier.
package tune
