package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// Many short rounds instead of a few long ones: the median round is then still good if the host
// takes a CPU away for a while.
const (
	throughputRounds  = 5
	throughputSeconds = 2
	// tableBurst is the burst of table 1 of paper 001 (Ara et al., 2019): 64 packets.
	tableBurst = 64
)

// benchSockets follows that table: the rates of the kernel's interfaces over a Linux bridge, with
// every packet stamped and recorded, compared with sockperf's throughput mode on the same bridge.
func benchSockets(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	if _, err := exec.LookPath("sockperf"); err != nil {
		return nil, missingPeer("sockperf")
	}
	a, err := openArena(ctx, inventory, spec.LinkBridge)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()

	// Receivers on sockets block, like sockperf's; rings are made for polling.
	ways := []struct {
		name string
		stream
	}{
		{"udp single", stream{backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitBlock}},
		{"udp batch", stream{backend: spec.BackendUDP, io: spec.IOBatch, wait: spec.WaitBlock, burst: tableBurst}},
		{"raw single", stream{backend: spec.BackendRaw, io: spec.IOSingle, wait: spec.WaitBlock}},
		{"raw batch", stream{backend: spec.BackendRaw, io: spec.IOBatch, wait: spec.WaitBlock, burst: tableBurst}},
		{"ring batch, spinning", stream{backend: spec.BackendRing, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst}},
		{"xdp batch, spinning", stream{backend: spec.BackendXDP, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst}},
	}
	sent, received := make(map[string][]float64), make(map[string][]float64)
	note := func(name string, out, in float64) {
		sent[name], received[name] = append(sent[name], out), append(received[name], in)
	}
	for range throughputRounds {
		out, in, err := sockperfThroughput(ctx, a)
		if err != nil {
			return nil, err
		}
		note("sockperf", out, in)
		for _, way := range ways {
			way.seconds = throughputSeconds
			out, in, err := a.ratesPPS(ctx, way.stream)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way.name, err)
			}
			note(way.name, out, in)
		}
	}
	row := func(what string, from map[string][]float64, name, peer string, goal float64) Row {
		text, met := atLeast(goal)
		return compare(name+", "+what, "kpps", median(from[name])/1000, peer, median(from[peer])/1000, text, met)
	}
	fastest := "ring batch, spinning"
	if other := "xdp batch, spinning"; median(received[other]) > median(received[fastest]) {
		fastest = other
	}
	const recorded = "received and recorded"
	return []Row{
		row("sent", sent, "udp single", "sockperf", 0.95),
		row(recorded, received, "udp single", "sockperf", 0.95),
		row(recorded, received, "udp batch", "udp single", 1.2),
		row(recorded, received, "raw single", "udp single", 1),
		row(recorded, received, "raw batch", "udp single", 2),
		row(recorded, received, fastest, "raw batch", 1),
	}, nil
}

// sockperfThroughput returns the packets per second that its client sent and its server received.
func sockperfThroughput(ctx context.Context, a *arena) (sent, received float64, err error) {
	t := a.plan.Traffic
	stop, err := sockperfServer(ctx, a.lab, t.To.Node, t.ToCPU, t.To.LocalIP)
	if err != nil {
		return 0, 0, err
	}
	client, clientErr := sockperfClient(ctx, a.lab, t.From.Node, t.FromCPU,
		"throughput", "-i", t.To.LocalIP, "--mps=max", "-t", fmt.Sprint(throughputSeconds))
	server, serverErr := stop()
	if err := errors.Join(clientErr, serverErr); err != nil {
		return 0, 0, err
	}
	if sent, err = sockperfFigure(messageRate, client); err != nil {
		return 0, 0, err
	}
	all, err := sockperfFigure(handled, server)
	return sent, all / throughputSeconds, err
}
