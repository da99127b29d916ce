// Package doctor reports what prevents low latency on a host: what was seen and where, why
// it matters, what it may cost at the tail, and what to do about it.
//
// It is pure. Examine judges an inventory of package host for a set of CPUs, JudgeFile
// judges it for all runs of an experiment. Both work on a recorded host as on a live one.
// Each subject has a file: power, clock, tick, scheduler, memory, interrupts, topology,
// network, isolation, virtual, kernel, services.
//
// A value that the inventory lacks is no finding: a file that could not be read proves
// nothing. Report.Unseen lists these gaps.
package doctor
