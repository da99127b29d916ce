package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

const roundTripRounds = 7

// roundTripLinks are the links that carry packets for UDP sockets.
var roundTripLinks = []spec.LinkKind{spec.LinkVeth, spec.LinkBridge, spec.LinkMacvlan, spec.LinkXDP}

// benchRoundTrip compares the round trip through a reflecting node with sockperf's ping-pong on the
// same link and CPUs, with every end blocking: at the rate of sockperf's, which sends the next
// message when the last one is back, and at a fixed rate, at which sockperf's client spins until the
// next is due, and ours for the last 50 µs before it.
func benchRoundTrip(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	if err := installed("sockperf"); err != nil {
		return nil, err
	}
	var rows []Row
	for _, kind := range roundTripLinks {
		more, err := roundTripOver(ctx, inventory, kind)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", kind, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// roundTripPPS is the fixed rate: a round trip takes about half of the time between two packets.
const roundTripPPS = 10_000

func roundTripOver(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (rows []Row, err error) {
	a, err := openReflector(ctx, inventory, kind)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	goal, met := within(0.05)
	fixed := strconv.Itoa(roundTripPPS)
	ours, theirs := make(map[string][]float64), make(map[string][]float64)
	for range roundTripRounds {
		for _, rate := range []string{"max", fixed} {
			peer, err := sockperfPingPong(ctx, a, rate)
			if err != nil {
				return nil, err
			}
			pps := float64(roundTripPPS)
			if rate != fixed {
				pps = 1e6 / (2 * peer)
			}
			p50, err := a.medianMicros(ctx, stream{
				backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitBlock, ratePPS: pps, seconds: latencySeconds,
			})
			if err != nil {
				return nil, err
			}
			theirs[rate], ours[rate] = append(theirs[rate], peer), append(ours[rate], p50/2)
		}
	}
	row := func(rate, what string) Row {
		return compare(fmt.Sprintf("%s, udp, blocking, %s: median round trip / 2", kind, what), "µs", median(ours[rate]),
			"sockperf RTT/2", median(theirs[rate]), goal, met)
	}
	return []Row{row("max", "one after the other"), row(fixed, fixed+" pps")}, nil
}
