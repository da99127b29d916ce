// Package stall explains what kept a program, or a busy-spinning thread, from running: nines trace
// record and nines trace jitter. It needs what package measure/trace needs.
//
//	jitter   a thread of the engine spins on each CPU and announces its gaps   ┐  measure/trace keeps what the
//	program  the recorder finds where threads could have run, and did not      ┘  CPUs did around the longest
//	         ─▸ analysis/attribution says what had the CPU ─▸ Report, and a result folder
//
// To the attribution, a gap of a spinning thread, or a stretch in which a program's thread waited,
// is like the wait of a sender.
package stall
