package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/host"
)

// Rounds and seconds are short and many rather than long and few: the median
// round then survives a host that takes a CPU away for a while.
const (
	throughputRounds  = 5
	throughputSeconds = 2
	// tableBurst is the burst of table 1 of paper 001 (Ara et al., 2019): 64 packets.
	tableBurst = 64
)

// benchSockets is the model of that table: the rates of the kernel's interfaces
// over a Linux bridge, every packet stamped and recorded, beside sockperf's
// throughput mode on the same bridge.
func benchSockets(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	if _, err := exec.LookPath("sockperf"); err != nil {
		return nil, missingPeer("sockperf")
	}
	a, err := openArena(ctx, inventory, spec.LinkBridge)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()

	ways := []struct {
		name string
		stream
	}{
		{"udp single", stream{backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitSpin}},
		{"udp batch", stream{backend: spec.BackendUDP, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst}},
		{"raw single", stream{backend: spec.BackendRaw, io: spec.IOSingle, wait: spec.WaitSpin}},
		{"raw batch", stream{backend: spec.BackendRaw, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst}},
		{"ring batch", stream{backend: spec.BackendRing, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst}},
		{"xdp batch", stream{backend: spec.BackendXDP, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst}},
	}
	measured := make(map[string][]float64)
	for range throughputRounds {
		peer, err := sockperfThroughput(ctx, a)
		if err != nil {
			return nil, err
		}
		measured["sockperf"] = append(measured["sockperf"], peer)
		for _, way := range ways {
			way.seconds = throughputSeconds
			pps, err := a.receivedPPS(ctx, way.stream)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			measured[way.name] = append(measured[way.name], pps)
		}
	}
	kpps := func(name string) float64 { return median(measured[name]) / 1000 }
	row := func(name, peer string, goal float64) Row {
		text, met := atLeast(goal)
		return compare(name+", received and recorded", "kpps", kpps(name), peer, kpps(peer), text, met)
	}
	fastest := "ring batch"
	if kpps("xdp batch") > kpps(fastest) {
		fastest = "xdp batch"
	}
	return []Row{
		row("udp single", "sockperf", 0.95),
		row("udp batch", "udp single", 1.2),
		row("raw single", "udp single", 1),
		row("raw batch", "udp single", 2),
		row(fastest, "raw batch", 1),
	}, nil
}

func sockperfThroughput(ctx context.Context, a *arena) (rate float64, err error) {
	t := a.plan.Traffic
	stop, err := sockperfServer(ctx, a.lab, t.To.Node, t.ToCPU, t.To.LocalIP)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	out, err := sockperfClient(ctx, a.lab, t.From.Node, t.FromCPU,
		"throughput", "-i", t.To.LocalIP, "--mps=max", "-t", fmt.Sprint(throughputSeconds))
	if err != nil {
		return 0, err
	}
	return sockperfFigure(messageRate, out)
}
