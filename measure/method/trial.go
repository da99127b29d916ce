package method

import (
	"context"
	"time"

	"nines.dev/nines/result"
)

// Trial offers a load to a network and returns the outcome. It is a search's only access to the
// network, real or simulated. A search ends with the error that a trial returns.
type Trial func(ctx context.Context, load Load) (Outcome, error)

// Load is what one trial offers.
type Load struct {
	// RatePPS is the rate in packets a second.
	RatePPS float64
	// Duration is how long the measured packets are sent.
	Duration time.Duration
	// Packets, if not 0, ends the load after this many packets: a burst at RatePPS, as in the
	// back-to-back test.
	Packets uint64
	// Settle is the network's pause before the load, and Drain the wait for stragglers after it; 0
	// leaves it to the caller. The trial waits for both.
	Settle, Drain time.Duration
	// Purpose says in a few words why the trial is run: "search", "loss verification", "latency at
	// 50 %". The result keeps it.
	Purpose string
}

// Outcome is the result of a load.
type Outcome struct {
	// ID names the trial in the result.
	ID string
	// Intended is the number of packets in the load's schedule, and Received how many of them
	// arrived, without duplicates. A packet that was never sent is lost to whoever waits for it, so
	// loss is counted against Intended.
	Intended, Received uint64
	// Elapsed is the total time of the trial, with warm-up and drain.
	Elapsed time.Duration
	// Latency is receive − intended send of the received packets; nil if none was recorded.
	Latency *result.Histogram
	// Invalid says why the trial is unreliable; empty if it is reliable.
	Invalid string
	// Unsent is how many of the intended packets the generator did not send in time. They count as
	// lost, as in fd.io CSIT, and a search uses a trial that is invalid because of them. A trial
	// that is invalid without them is repeated, and so is any latency trial.
	Unsent uint64
}

// LossRatio is the fraction of the intended packets that did not arrive, 0 to 1.
func (o Outcome) LossRatio() float64 {
	if o.Intended == 0 {
		return 0
	}
	return 1 - min(1, float64(o.Received)/float64(o.Intended))
}
