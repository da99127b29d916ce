// Package doctor says what on a host stands in the way of low latency: what was seen and
// where, why it matters, what it may cost at the tail, and what to do about it.
//
// It is pure. Examine judges an inventory of package host for a set of CPUs, JudgeFile
// judges it for all runs of an experiment. Both work on a recorded host as on a live one.
// A subject has a file: power, clock, tick, scheduler, memory, interrupts, topology,
// network, isolation, virtual, kernel, services.
//
// What an inventory does not hold is no finding: a file that could not be read proves
// nothing. Such gaps are in Report.Unseen.
package doctor
