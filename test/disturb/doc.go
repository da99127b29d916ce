// Package disturb tests nines-disturb, a program in C: each kind is checked against the kernel's
// counters, not against times.
package disturb
