// Package proc identifies processes uniquely: a process ID is reused, a process ID with its
// start time is not (within one boot). It reads /proc and needs root to see other users'
// processes.
package proc
