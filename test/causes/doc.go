// Package causes tests nines explain on known causes: nines-disturb makes one kind of disturbance
// while a trial is traced, and the explanation must name it first, with the microseconds that it
// took.
//
//	nines run ── nines-engine, one thread on CPU 1: sends and receives over a veth pair
//	nines-disturb ── every 50 ms for some ms; its log is the reference
//	nines explain --format json ── is checked
//
// Other work on the host may delay packets as well. So every trial must only show what other load
// cannot change: a packet with four fifths of its latency in an injection is late because of that
// injection. The whole trial must name it first only if most of the slowest packets are such
// packets; otherwise the test reports that and runs the trial again.
package causes
