package method

import (
	"context"
	"time"

	"nines.dev/nines/result"
)

// Trial offers a load to a network and says what became of it. It is the only way
// of a search to the world: a real network, or a simulated one. A search ends with
// the error that a trial returns.
type Trial func(ctx context.Context, load Load) (Outcome, error)

// Load is what one trial offers.
type Load struct {
	// RatePPS is the rate in packets a second.
	RatePPS float64
	// Duration is how long the measured packets are sent.
	Duration time.Duration
	// Packets, if not 0, ends the load after so many packets: a burst at RatePPS, as
	// the back-to-back test sends it.
	Packets uint64
	// Settle is how long the network is to rest before the load, and Drain how long
	// stragglers are waited for after it; 0 leaves each to the caller. Both are the
	// trial's to keep.
	Settle, Drain time.Duration
	// Purpose says why the trial is run, in a few words: "search", "loss verification",
	// "latency at 50 %". The result keeps it.
	Purpose string
}

// Outcome is what became of a load.
type Outcome struct {
	// ID names the trial in the result.
	ID string
	// Intended is how many packets the load's schedule had, and Received how many of
	// them arrived, each counted once. A packet that was never sent is lost to the
	// one who waits for it, so that loss is counted against Intended.
	Intended, Received uint64
	// Elapsed is the time that the trial took as a whole, with warm-up and drain.
	Elapsed time.Duration
	// Latency is receive − intended send of the received packets; nil if none was recorded.
	Latency *result.Histogram
	// Invalid says why the trial cannot be relied upon; empty when it can.
	Invalid string
	// Unsent is how many of the intended packets the generator did not send in time. They
	// count as lost, as in fd.io CSIT, and a search uses a trial that is invalid for them;
	// one that is invalid and has none is repeated, as is any whose latency is asked for.
	Unsent uint64
}

// LossRatio is the part of the intended packets that did not arrive, 0 to 1.
func (o Outcome) LossRatio() float64 {
	if o.Intended == 0 {
		return 0
	}
	return 1 - min(1, float64(o.Received)/float64(o.Intended))
}
