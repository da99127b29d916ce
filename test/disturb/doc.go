// Package disturb is the tests of nines-disturb, a program in C: each kind is held to what
// the kernel counts of it, not to times.
package disturb
