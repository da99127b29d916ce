package method

import (
	"context"
	"math/big"
	"strconv"
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
	// arrived, without duplicates. A packet that was never sent is lost to its receiver, so
	// loss is counted against Intended.
	Intended, Received uint64
	// Elapsed is the total time of the trial, with warm-up and drain.
	Elapsed time.Duration
	// Latency is receive − intended send of the received packets; nil if none was recorded.
	Latency *result.Histogram
	// SendLagP99 and SendLagMax say how late packets left the generator; 0 if that is not known.
	SendLagP99, SendLagMax time.Duration
	// ClockError is how wrong each latency may be where the two ends have a clock each; 0 for one clock.
	ClockError time.Duration
	// Invalid says why the trial is unreliable; empty if it is reliable.
	Invalid string
	// Unsent is how many of the intended packets the generator did not send in time. They count as
	// lost, as in fd.io CSIT, and a search uses a trial that is invalid because of them. A trial
	// that is invalid without them is repeated, and so is any latency trial.
	Unsent uint64
}

// Lost is how many of the intended packets did not arrive.
func (o Outcome) Lost() uint64 { return o.Intended - min(o.Received, o.Intended) }

// LossRatio is the fraction of the intended packets that did not arrive, 0 to 1. It is for people;
// to compare it with a limit is for LosesAtMost.
func (o Outcome) LossRatio() float64 {
	if o.Intended == 0 {
		return 0
	}
	return float64(o.Lost()) / float64(o.Intended)
}

// LosesAtMost reports whether at most this fraction of the intended packets is lost. It compares
// integers, because 1 − 995/1000 is more than 0.005 in binary fractions. The limit is the decimal
// number that someone wrote, and not the binary one beside it.
func (o Outcome) LosesAtMost(limit float64) bool {
	if limit >= 1 { // also the infinite one, of a search that bounds nothing
		return true
	}
	allowed, ok := new(big.Rat).SetString(strconv.FormatFloat(limit, 'g', -1, 64))
	if !ok {
		return false // no number
	}
	lost := new(big.Int).Mul(new(big.Int).SetUint64(o.Lost()), allowed.Denom())
	return lost.Cmp(new(big.Int).Mul(new(big.Int).SetUint64(o.Intended), allowed.Num())) <= 0
}
