// Package jitter measures how long, and how often, a host takes CPUs away from a program
// that never sleeps, and compares two such measurements: nines tune check.
//
// A watch of the engine spins on all CPUs at the same time, in slices of some seconds.
// /proc/stat is the witness of what a hypervisor took (steal). Summaries and comparisons
// are pure; Run needs the engine's program and the right to run on the CPUs.
package jitter
