// Package recording turns the engines' recording of every packet of a trial into rows and metrics.
//
// A recording is two files in the engine's form (docs/reference/engine-protocol.md, "trial"): one of the
// packets sent, one of those received. They are mapped, not read: besides them a Recording takes 8
// bytes of memory per packet, and its metrics 28 more while they are computed. One goroutine uses
// it, until Close.
package recording
