package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// lightLoad is the share of a switch's own maximum at which latency is compared.
const lightLoad = 0.1

// polledSwitch is a program that forwards between DPDK ports, and the goals for ours beside it.
type polledSwitch struct {
	kind spec.LinkKind
	name string
	// feature is the host's feature without which the program is left out; empty: setup-bench
	// installs it.
	feature string
	// throughputGoal is how many times as fast ours should be.
	throughputGoal float64
}

// polledPeers are compared with our switch. testpmd only copies from port to port, without reading
// the packet. Debian has neither VPP nor Snabb.
var polledPeers = []polledSwitch{
	{spec.LinkTestpmd, "testpmd io", "", 1},
	{spec.LinkOVSDPDK, "ovs-dpdk", "", 3},
	{spec.LinkVPP, "vpp", host.FeatureVPP, 1},
	{spec.LinkSnabb, "snabb", host.FeatureSnabb, 1},
}

// benchSwitch measures our learning switch: the cost of a packet in it, and in its peers.
func benchSwitch(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	rows, err := switchCosts(ctx)
	if err != nil {
		return nil, err
	}
	beside, err := switchPeers(ctx, inventory)
	return append(rows, beside...), err
}

// switchPeers compares the switch with the other polled ones, and, for latency, with the kernel:
// UDP sockets over a Linux bridge.
func switchPeers(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	peers := []polledSwitch{}
	for _, peer := range polledPeers {
		if peer.feature == "" || inventory.Feature(peer.feature).State == host.StateYes {
			peers = append(peers, peer)
		}
	}
	var ours, bridge passages
	theirs := make([]passages, len(peers))
	// Only one at a time: each polls on the same CPU.
	for range throughputRounds {
		if err := ours.add(polledRound(ctx, inventory, spec.LinkSwitch)); err != nil {
			return nil, fmt.Errorf("%s: %w", spec.LinkSwitch, err)
		}
		for i, peer := range peers {
			if err := theirs[i].add(polledRound(ctx, inventory, peer.kind)); err != nil {
				return nil, fmt.Errorf("%s: %w", peer.kind, err)
			}
		}
		if err := bridge.add(socketRound(ctx, inventory)); err != nil {
			return nil, fmt.Errorf("bridge: %w", err)
		}
	}
	rows := []Row{}
	for i, peer := range peers {
		goal, met := atLeast(peer.throughputGoal)
		rows = append(rows, compare("switch, 2 vhost-user ports, learning", "Mpps",
			median(ours.pps)/1e6, peer.name, median(theirs[i].pps)/1e6, goal, met))
	}
	for i, peer := range peers {
		goal, met := atLeast(1)
		rows = append(rows, compare("switch: highest rate without loss", "Mpps",
			slices.Max(ours.lossFree)/1e6, peer.name, slices.Max(theirs[i].lossFree)/1e6, goal, met))
	}
	for i, peer := range peers {
		goal, met := atMost(1)
		rows = append(rows, compare("switch at 10 % of its maximum: p50", "µs",
			median(ours.p50), peer.name+" at 10 %", median(theirs[i].p50), goal, met))
	}
	goal, met := atMost(0.1)
	return append(rows, compare("switch at 10 % of its maximum: p50", "µs",
		median(ours.p50), "bridge, UDP sockets at 10 %", median(bridge.p50), goal, met)), nil
}

// passage is what one round measured of a switch: the maximum rate received, the highest rate
// without loss (0: not measured), and the median latency in µs at a light load.
type passage struct{ pps, lossFree, p50 float64 }

// passages are the figures of all rounds.
type passages struct{ pps, lossFree, p50 []float64 }

func (all *passages) add(one passage, err error) error {
	all.pps, all.lossFree, all.p50 = append(all.pps, one.pps), append(all.lossFree, one.lossFree), append(all.p50, one.p50)
	return err
}

// polledRound is a round of a switch with DPDK ports.
func polledRound(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (one passage, err error) {
	a, err := openLoop(ctx, inventory, kind)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if _, one.pps, err = a.ratesPPS(ctx, polled(0, throughputSeconds)); err != nil {
		return one, err
	}
	limit := ""
	if one.lossFree, limit, err = a.highestLossFree(ctx, one.pps); err != nil {
		return one, err
	}
	fmt.Fprintf(os.Stderr, "  %-11s %.2f Mpps, without loss %.2f; %s\n", kind, one.pps/1e6, one.lossFree/1e6, limit)
	light := polled(lightLoad*one.pps, latencySeconds)
	light.burst = 1
	one.p50, err = a.medianMicros(ctx, light)
	return one, err
}

// socketRound is a round of UDP sockets over a Linux bridge.
func socketRound(ctx context.Context, inventory *host.Inventory) (one passage, err error) {
	a, err := openArena(ctx, inventory, spec.LinkBridge)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	sockets := stream{backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitBlock, seconds: throughputSeconds}
	if _, one.pps, err = a.ratesPPS(ctx, sockets); err != nil {
		return one, err
	}
	sockets.ratePPS, sockets.seconds = lightLoad*one.pps, latencySeconds
	one.p50, err = a.medianMicros(ctx, sockets)
	return one, err
}
