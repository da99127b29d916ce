// Package proc tells processes apart for good: a process id is recycled, a process
// id with its start time is not (within one boot). It reads /proc and needs root to
// see other users' processes.
package proc
