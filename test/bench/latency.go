package main

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

const (
	latencyRounds  = 9
	latencySeconds = 1
)

// benchLatency compares the measured median one-way latency with half of sockperf's round trip on
// the same link, with both ends blocking. It sends one packet per round trip, so that the receivers
// sleep equally long: how long a CPU slept decides how fast it wakes.
func benchLatency(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	if err := installed("sockperf"); err != nil {
		return nil, err
	}
	a, err := openArena(ctx, inventory, spec.LinkVeth)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	var ours, halfRTT []float64
	for range latencyRounds {
		peer, err := sockperfPingPong(ctx, a, "max")
		if err != nil {
			return nil, err
		}
		p50, err := a.medianMicros(ctx, stream{
			backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitBlock,
			ratePPS: 1e6 / (2 * peer), seconds: latencySeconds,
		})
		if err != nil {
			return nil, err
		}
		halfRTT, ours = append(halfRTT, peer), append(ours, p50)
	}
	goal, met := within(0.1)
	return []Row{compare("veth, udp, blocking: median one-way latency", "µs", median(ours),
		"sockperf RTT/2", median(halfRTT), goal, met)}, nil
}

// medianMicros is the median of receive − actual send. A ping-pong measures the same, because it
// sends without a schedule.
func (a *arena) medianMicros(ctx context.Context, s stream) (float64, error) {
	outcome, err := a.send(ctx, s)
	if err != nil {
		return 0, err
	}
	h, err := result.ImportHistogram(result.Sparse(outcome.Rx.FromTx))
	if err != nil {
		return 0, err
	}
	p50 := h.Percentiles().P50
	if p50 == nil {
		return 0, errors.New("no packet arrived")
	}
	return float64(*p50) / 1000, nil
}

// sockperfPingPong sends so many messages a second; "max": the next as soon as the last is back.
func sockperfPingPong(ctx context.Context, a *arena, rate string) (halfRTTMicros float64, err error) {
	near, far := a.near(), a.far()
	stop, err := sockperfServer(ctx, a.lab, far)
	if err != nil {
		return 0, err
	}
	defer func() {
		_, stopErr := stop()
		err = errors.Join(err, stopErr)
	}()
	out, err := sockperfClient(ctx, a.lab, near,
		"ping-pong", "-i", far.ip, "--mps="+rate, "-t", fmt.Sprint(latencySeconds))
	if err != nil {
		return 0, err
	}
	return sockperfFigure(medianUsec, out)
}
