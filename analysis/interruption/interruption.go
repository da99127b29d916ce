// Package interruption has, as plain values, when the host kept the threads and CPUs on the packets' way from
// running, and how well that is known. It is pure.
package interruption

import (
	"time"

	"nines.dev/nines/result"
)

// Interruption is one stretch in which a thread did not run, or a CPU did other work.
type Interruption struct {
	// Thread is the witness's, as in Witness; CPU is -1 if the thread was not pinned.
	Thread string
	CPU    int
	// Begin counts from when the first measured packet was due; it is negative in the warm-up.
	Begin, Length time.Duration
}

// Witness is who told of the interruptions of one thread, or of one CPU. Every interruption of Threshold or more is
// listed, but for those in turns with many packets, a twentieth of its time at most, and for Overflow of them, for which
// there was no room.
type Witness struct {
	Thread    string
	CPU       int
	Threshold time.Duration
	// Unlisted is the time spent in turns that were longer than usual and are not listed: shorter interruptions
	// may be in them.
	Unlisted time.Duration
	Overflow uint64
}

// List is what is known of a trial.
type List struct {
	Witnesses []Witness
	// Interruptions are ordered by Begin.
	Interruptions []Interruption
	// Unseen are the parts of the packets' way that had no witness, and why.
	Unseen []string
}

// Of is a trial's list, from its summary and the rows of its interruptions.parquet; empty for a trial of which nothing
// is known (of is nil).
func Of(of *result.Interruptions, rows []result.Interruption) List {
	if of == nil {
		return List{}
	}
	list := List{Unseen: of.Unseen}
	for _, w := range of.Witnesses {
		list.Witnesses = append(list.Witnesses, Witness{
			Thread: w.Thread, CPU: w.CPU, Threshold: time.Duration(w.ThresholdNs), Unlisted: time.Duration(w.UnlistedNs), Overflow: w.Overflow,
		})
	}
	for _, r := range rows {
		list.Interruptions = append(list.Interruptions, Interruption{
			Thread: r.Thread, CPU: int(r.CPU), Begin: time.Duration(r.BeginNs), Length: time.Duration(r.LengthNs),
		})
	}
	return list
}
