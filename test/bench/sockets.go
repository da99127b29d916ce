package main

import (
	"context"
	"errors"
	"fmt"

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

// awakeUDP names UDP sockets whose receiver does not sleep.
const awakeUDP = "udp single, spinning"

// benchSockets follows that table: the rates of the kernel's interfaces over a Linux bridge, with
// every packet stamped and recorded, compared with sockperf's throughput mode and iperf3 on the same
// bridge.
//
// To wake a sleeping receiver costs the sender several packets' time, so a sender's rate depends on
// how often its receiver sleeps. sockperf's sleeps as ours does when it blocks. iperf3's makes two
// system calls and reads the clock for each packet, and is so slow that it hardly ever sleeps: its
// sender is compared with ours when our receiver spins.
func benchSockets(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	for _, peer := range []string{"sockperf", "iperf3"} {
		if err := installed(peer); err != nil {
			return nil, err
		}
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
		{awakeUDP, stream{backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitSpin}},
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
		if out, in, err = iperf3Rates(ctx, a); err != nil {
			return nil, err
		}
		note("iperf3", out, in)
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
		row("sent", sent, awakeUDP, "iperf3", 0.95),
		row(recorded, received, "udp single", "sockperf", 0.95),
		row(recorded, received, "udp batch", "udp single", 1.2),
		row(recorded, received, "raw single", "udp single", 1),
		row(recorded, received, "raw batch", "udp single", 2),
		row(recorded, received, fastest, "raw batch", 1),
	}, nil
}

// sockperfThroughput returns the packets per second that its client sent and its server received.
func sockperfThroughput(ctx context.Context, a *arena) (sent, received float64, err error) {
	near, far := a.near(), a.far()
	stop, err := sockperfServer(ctx, a.lab, far)
	if err != nil {
		return 0, 0, err
	}
	client, clientErr := sockperfClient(ctx, a.lab, near,
		"throughput", "-i", far.ip, "--mps=max", "-t", fmt.Sprint(throughputSeconds))
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
