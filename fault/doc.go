// Package fault has the points at which the crash tests kill nines. In an ordinary
// build it does nothing; with the build tag faultpoint, Point kills the process at
// the n-th point that it passes, n being in the environment as NINES_FAULT_AT.
package fault
