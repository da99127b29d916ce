package main

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// lightLoad is the share of a switch's own maximum at which latency is compared.
const lightLoad = 0.1

// benchSwitch measures our learning switch: the cost of a packet in it, and in its peers.
func benchSwitch(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	rows, err := switchCosts(ctx)
	if err != nil {
		return nil, err
	}
	beside, err := switchPeers(ctx, inventory)
	return append(rows, beside...), err
}

// switchPeers compares the switch with testpmd, which copies from port to port without reading the
// packet, with Open vSwitch with DPDK, and, for latency, with the kernel: UDP sockets over a Linux
// bridge.
func switchPeers(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	kinds := []spec.LinkKind{spec.LinkSwitch, spec.LinkTestpmd, spec.LinkOVSDPDK}
	pps, p50 := make(map[spec.LinkKind][]float64), make(map[spec.LinkKind][]float64)
	// Only one at a time: each polls on the same CPU.
	for range throughputRounds {
		for _, kind := range kinds {
			rate, late, err := loopRound(ctx, inventory, kind)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			pps[kind], p50[kind] = append(pps[kind], rate), append(p50[kind], late)
		}
		_, late, err := socketRound(ctx, inventory)
		if err != nil {
			return nil, fmt.Errorf("bridge: %w", err)
		}
		p50[spec.LinkBridge] = append(p50[spec.LinkBridge], late)
	}
	throughput := func(peer spec.LinkKind, what string, goal float64) Row {
		text, met := atLeast(goal)
		return compare("switch, 2 vhost-user ports, learning", "Mpps", median(pps[spec.LinkSwitch])/1e6,
			what, median(pps[peer])/1e6, text, met)
	}
	latency := func(peer spec.LinkKind, what string, goal float64) Row {
		text, met := atMost(goal)
		return compare("switch at 10 % of its maximum: p50", "µs", median(p50[spec.LinkSwitch]),
			what, median(p50[peer]), text, met)
	}
	return []Row{
		throughput(spec.LinkTestpmd, "testpmd io", 1),
		throughput(spec.LinkOVSDPDK, "ovs-dpdk", 3),
		latency(spec.LinkOVSDPDK, "ovs-dpdk at 10 %", 1),
		latency(spec.LinkBridge, "bridge, UDP sockets at 10 %", 0.1),
	}, nil
}

// loopRound returns the maximum rate received, and the median latency at a light load.
func loopRound(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (pps, p50 float64, err error) {
	a, err := openLoop(ctx, inventory, kind)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if _, pps, err = a.ratesPPS(ctx, polled(0, throughputSeconds)); err != nil {
		return 0, 0, err
	}
	light := polled(lightLoad*pps, latencySeconds)
	light.burst = 1
	p50, err = a.medianMicros(ctx, light)
	return pps, p50, err
}

// socketRound is the same for UDP sockets over a Linux bridge.
func socketRound(ctx context.Context, inventory *host.Inventory) (pps, p50 float64, err error) {
	a, err := openArena(ctx, inventory, spec.LinkBridge)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	sockets := stream{backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitBlock, seconds: throughputSeconds}
	if _, pps, err = a.ratesPPS(ctx, sockets); err != nil {
		return 0, 0, err
	}
	sockets.ratePPS, sockets.seconds = lightLoad*pps, latencySeconds
	p50, err = a.medianMicros(ctx, sockets)
	return pps, p50, err
}
