package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// A round has one trial of each degree of isolation, so that drift of the host affects all. A trial
// has enough packets for p99.9.
const (
	isolationRounds  = 5
	isolationSeconds = 2
	isolationPPS     = 2000
)

// disturbed is the result of one trial under a disturber, in microseconds.
type disturbed struct {
	p999, max float64
	// gap is the longest time that the forwarder was without its CPU, by its own count, and
	// taken the share of its time that it lost.
	gap, taken float64
}

// benchIsolation compares a spinning forwarder on isolated CPUs with one without isolation, and
// with one that is only pinned to its CPU, as by taskset, while a disturber takes all CPUs that it
// can get.
//
// On a host with few CPUs the generator shares its CPU with the host, and so with the disturber. In
// all three cases it blocks between packets and is scheduled by FIFO; otherwise it would measure
// itself. The forwarder's own gap meter does not contain the generator's part of the latency.
func benchIsolation(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	degrees := []spec.Isolation{spec.IsolationNone, spec.IsolationAffinity, spec.IsolationIsolated}
	seen := make(map[spec.Isolation][]disturbed)
	for round := range isolationRounds {
		for _, degree := range degrees {
			d, err := disturbedRound(ctx, inventory, degree)
			if err != nil {
				return nil, fmt.Errorf("isolation %s: %w", degree, err)
			}
			fmt.Fprintf(os.Stderr, "  round %d, %-8s: p99.9 %8.1f µs, max %8.1f µs, the forwarder's longest gap %8.1f µs, %.2f %% taken\n",
				round+1, degree, d.p999, d.max, d.gap, d.taken)
			seen[degree] = append(seen[degree], d)
		}
	}
	of := func(degree spec.Isolation, figure func(disturbed) float64) float64 {
		var values []float64
		for _, d := range seen[degree] {
			values = append(values, figure(d))
		}
		return median(values)
	}
	var rows []Row
	for _, figure := range []struct {
		name string
		of   func(disturbed) float64
	}{
		{"isolated forwarder, disturbed: p99.9", func(d disturbed) float64 { return d.p999 }},
		{"isolated forwarder, disturbed: worst", func(d disturbed) float64 { return d.max }},
		{"isolated forwarder, disturbed: its longest gap", func(d disturbed) float64 { return d.gap }},
	} {
		for _, peer := range []struct {
			degree spec.Isolation
			name   string
		}{{spec.IsolationNone, "isolation: none"}, {spec.IsolationAffinity, "affinity, as taskset"}} {
			goal, met := atMost(0.5)
			rows = append(rows, compare(figure.name, "µs", of(spec.IsolationIsolated, figure.of), peer.name, of(peer.degree, figure.of), goal, met))
		}
	}
	return rows, nil
}

// disturbedRound measures once. The disturber starts when the lab is up, and ends before the lab
// goes down.
func disturbedRound(ctx context.Context, inventory *host.Inventory, degree spec.Isolation) (d disturbed, err error) {
	a, err := open(ctx, inventory, fmt.Sprintf(`name: bench-isolation
isolation: %s
topology:
  nodes:
    gen: {scheduling: {policy: fifo, priority: 1}}
    dut: {app: {kind: forward, backend: raw, wait: spin}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: %d, backend: raw}
`, degree, isolationPPS))
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	disturber, err := startDisturber(ctx, onEachCPU(), wholeHost...)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, disturber.stop()) }()
	begun := time.Now()
	outcome, err := a.send(ctx, stream{
		backend: spec.BackendRaw, io: spec.IOSingle, wait: spec.WaitBlock, ratePPS: isolationPPS, seconds: isolationSeconds,
	})
	if err != nil {
		return d, err
	}
	stats, err := a.forwarderStats(ctx, "dut")
	if err != nil {
		return d, err
	}
	lasted := time.Since(begun)
	h, err := result.ImportHistogram(result.Sparse(outcome.Rx.FromTx))
	if err != nil {
		return d, err
	}
	p := h.Percentiles()
	if p.P999 == nil || p.Max == nil {
		return d, fmt.Errorf("%d packets arrived of %d: too few for p99.9", outcome.Rx.RxPackets, outcome.Tx.TxPackets)
	}
	const micro = 1000
	return disturbed{
		p999: float64(*p.P999) / micro, max: float64(*p.Max) / micro,
		gap: float64(stats.Gaps.MaxNs) / micro, taken: 100 * float64(stats.Gaps.TotalNs) / float64(lasted),
	}, nil
}

// forwarderStats reads the counters of a node's engine.
func (a *arena) forwarderStats(ctx context.Context, node string) (client.Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, a.lab.EngineSocket(node))
	if err != nil {
		return client.Stats{}, err
	}
	stats, err := c.Stats()
	return stats, errors.Join(err, c.Close())
}
