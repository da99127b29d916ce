// Package causes tests nines explain on causes that are known: nines-disturb makes one
// kind of disturbance while a trial is traced, and the explanation has to name it first,
// with the microseconds that it took.
//
//	nines run ── nines-engine, one thread on CPU 1: sends and receives over a veth pair
//	nines-disturb ── every 50 ms for some ms; its log is the truth
//	nines explain --format json ── what is judged
//
// The host may be busy with other things, which delay packets as well. So what is held of
// every trial is what no other load can change: a packet whose latency lies in an
// injection by four fifths is late for that. That the whole trial has it first is held of
// those trials in which most of the slowest packets are such; one in which others are is
// run again, and said.
package causes
