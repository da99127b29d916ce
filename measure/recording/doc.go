// Package recording turns what engines recorded of every packet of a trial into rows
// and metrics.
//
// A recording is two files in the engine's form (docs/engine-protocol.md, "trial"): one
// of the packets sent, one of those received. They are mapped, not read: beside them a
// Recording takes 8 bytes of memory a packet, and its metrics 28 more while they are
// computed. It is used by one goroutine, until Close.
package recording
