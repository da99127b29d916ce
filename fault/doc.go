// Package fault marks the points at which the crash tests kill nines, or let a step of undo fail.
// In an ordinary build it does nothing. With the build tag faultpoint, the process is killed at the
// n-th point that it passes, where n is NINES_FAULT_AT in the environment, and writes each point to
// the file that NINES_FAULT_LIST names, one per line: the moment, a tab, and the kind of step.
package fault
