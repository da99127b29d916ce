// Package examples has the experiment files that nines measures by itself: those that 'nines reproduce' takes for the
// claims of papers. They are in the program, so that an installation without this folder measures them, too.
package examples

import "embed"

// Files are the experiments after papers, by their paths below this folder.
//
//go:embed container-latency inter-container kernel-busy-poll low-latency-containers
var Files embed.FS
