// Package jitter measures how long and how often a host takes CPUs away from a program that never
// sleeps, and compares two such measurements: nines tune check.
//
// The engine's watch spins on all CPUs at the same time, in slices of some seconds. /proc/stat
// shows what a hypervisor took (steal). Summaries and comparisons are pure; Run needs the engine's
// program and permission to run on the CPUs.
package jitter
