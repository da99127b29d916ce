package main

import (
	"context"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
)

// The cost of tracing: trials without and with it alternate.
const (
	tracingRounds  = 16
	tracingSeconds = 2
	tracingPPS     = 100_000
	// The allowed change: p99 by 5 %, the rate by 3 %.
	maxTracedP99  = 1.05
	minTracedRate = 0.97
)

// benchTracing measures how the recorder of `trace: true` changes what it records: p99 and the rate
// received at 100,000 packets per second over a veth pair, with a thread that polls and with one
// that sleeps, where each packet is a recorded wake-up. Both ends are on one CPU: a virtual machine
// with all CPUs busy may get less than all of them from its host, which takes them away for longer
// than anything measured here.
func benchTracing(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	var rows []Row
	for _, wait := range []string{"block", "spin"} {
		done, err := runExperiment(ctx, inventory, fmt.Sprintf(`name: bench-tracing
topology:
  nodes: {gen: {cpus: 1}}
  links: [{name: wire, endpoints: ["gen:tx", "gen:rx"]}]
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: %d, backend: raw, wait: %s, warmup: 500ms, duration: %ds, drain: 200ms}
sweep: {trace: [false, true]}
repeat: %d
`, tracingPPS, wait, tracingSeconds, tracingRounds))
		if err != nil {
			return rows, err
		}
		p99, err := each(done, "trace", microsOf(func(p result.Percentiles) *int64 { return p.P99 }))
		if err != nil {
			return rows, err
		}
		rate, err := each(done, "trace", func(t result.Trial) *float64 {
			kpps := float64(t.RxPackets) / tracingSeconds / 1000
			return &kpps
		})
		if err != nil {
			return rows, err
		}
		goal, met := atMost(maxTracedP99)
		rows = append(rows, compare("traced, wait: "+wait+": p99, lower quartile of rounds", "µs", lowerQuartile(p99["true"]), "not traced", lowerQuartile(p99["false"]), goal, met))
		goal, met = atLeast(minTracedRate)
		rows = append(rows, compare("traced, wait: "+wait+": received", "kpps", median(rate["true"]), "not traced", median(rate["false"]), goal, met))
	}
	return rows, nil
}
