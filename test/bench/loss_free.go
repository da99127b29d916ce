package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/spec"
)

const (
	// lossFreeTrials is the number of trials of a search; eight halve the range to 0.4 % of it.
	lossFreeTrials = 8
	// lossFreeDuration is short, so that a trial can pass between two moments at which a host
	// takes a CPU away; the best of all rounds counts.
	lossFreeDuration = 200 * time.Millisecond
	// offeredShare is how much of the intended load a sender must reach: a switch that holds the
	// sender back instead of dropping has not carried the rate either.
	offeredShare = 0.99
)

// highestLossFree returns the highest rate, in packets a second, of which no packet was lost, by
// bisection below a ceiling (RFC 2544, section 26.1), and what was wrong at the lowest rate above it:
// where the sender did not reach its rate, the switch may carry more.
func (a *arena) highestLossFree(ctx context.Context, ceiling float64) (rate float64, limit string, err error) {
	t := *a.plan.Traffic
	s := polled(0, lossFreeDuration.Seconds())
	t.Stream.Backend, t.Stream.IO, t.Stream.Wait, t.Stream.Burst = s.backend, s.io, s.wait, s.burst
	t.Stream.Warmup, t.Stream.Duration, t.Stream.Drain = spec.Duration(100*time.Millisecond), spec.Duration(lossFreeDuration), spec.Duration(100*time.Millisecond)
	generator, err := traffic.Start(ctx, a.lab, recordingFolder, &t)
	if err != nil {
		return 0, "", err
	}
	limit = "no loss at all"
	low, high := 0.0, ceiling
	for range lossFreeTrials {
		t.Stream.RatePPS = (low + high) / 2
		outcome, err := generator.Run(ctx, t.Stream, 1, nil)
		if err != nil {
			return 0, "", errors.Join(err, generator.Close())
		}
		if wrong := whatFailed(outcome, t.Stream.RatePPS*lossFreeDuration.Seconds()); wrong != "" {
			high, limit = t.Stream.RatePPS, fmt.Sprintf("at %.2f Mpps %s", t.Stream.RatePPS/1e6, wrong)
		} else {
			low = t.Stream.RatePPS
		}
	}
	return low, limit, generator.Close()
}

// whatFailed says why a trial does not count as one without loss; empty if it does.
func whatFailed(outcome traffic.Outcome, intended float64) string {
	sent, received := outcome.Tx.TxPackets, outcome.Rx.RxPackets
	switch {
	case received != sent:
		return fmt.Sprintf("%d of %d were lost", sent-received, sent)
	case float64(sent) < offeredShare*intended:
		return fmt.Sprintf("the sender reached %.1f %% of its rate", 100*float64(sent)/intended)
	}
	return ""
}
