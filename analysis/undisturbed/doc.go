// Package undisturbed answers what the latencies of a network would be if nothing had interrupted the CPUs on the
// packets' path: if no hypervisor, interrupt or other program had taken one away.
//
// It leaves out the packets that an interruption touched, weighs the others by how likely one of their latency escapes
// all interruptions, and refuses to answer where that cannot be right: for one, where the traffic itself caused the
// interruptions. docs/statistics.md has the method, its assumptions and how often it is right.
//
// Pure: no clock, no file. A Sieve sees each packet once, in the order in which they were due, and keeps none.
package undisturbed
