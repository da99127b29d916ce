// Package fault has the points at which the crash tests kill nines. In an ordinary
// build it does nothing; with the build tag faultpoint, Point kills the process at
// the n-th point that it passes, n being in the environment as NINES_FAULT_AT, and writes
// those that it passes into the file that NINES_FAULT_LIST names, a line for each: the
// moment and, after a tab, the kind of step that it is a moment of.
package fault
