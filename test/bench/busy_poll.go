package main

import (
	"context"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
)

// The number of rounds; each round tries every way of receiving. A trial has 40,000 packets, enough
// for p99.9; a search takes some ten trials.
const (
	receiveRounds   = 5
	throughputTurns = 3
	receiveSeconds  = 2
	paperMaximum    = 0.79 // 002, section 7: the maximum in a container is 21 to 96 % less
	paperThroughput = 1.05 // section 6.2.2: 1.05 to 1.25 in Docker, up to 1.28 in Kubernetes
)

// receiving is a container that reflects, and other softirqs on its CPU, 6 % of its time; the
// generator sends from another CPU. Both engines are scheduled by FIFO, to exclude other work on
// the machine from the measurement; a search's generator cannot be, because it also sends at an
// unlimited rate.
const receiving = `name: %s
topology:
  nodes:
    gen: {%s}
    dut: {cpus: 1, app: {kind: reflect}, scheduling: {policy: fifo, priority: 2}}
  links: [{name: wire, endpoints: ["gen:eth0", "dut:eth0"]}]
traffic: {from: "gen:eth0", to: "gen:eth0", frame_bytes: %d, %s warmup: 200ms, drain: 200ms}
disturb: {others: {kind: softirq, node: dut, period: 5ms, length: 300us}}
%s
sweep: {nodes.dut.rx: [interrupt, awake, threaded, busy_poll]}
repeat: %d
`

// benchBusyPoll compares the receive modes of kernel busy poll with interrupts, while softirqs
// compete: the round trip of 512 bytes at 80 Mb/s, and the throughput of 64 bytes by RFC 2544. The
// goals are those of paper 002 in a container.
//
// If a poller has no CPU for itself, as on a host with two, it shares the container's CPU, and
// cannot reach the goals.
func benchBusyPoll(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	done, err := runExperiment(ctx, inventory, fmt.Sprintf(receiving, "bench-busy-poll", "scheduling: {policy: fifo, priority: 1}", 512,
		fmt.Sprintf("rate_bits: 80Mbit/s, duration: %ds,", receiveSeconds), "", receiveRounds))
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, figure := range []struct {
		name string
		of   func(result.Percentiles) *int64
		goal float64
	}{
		{"p99.9", func(p result.Percentiles) *int64 { return p.P999 }, 1},
		{"worst", func(p result.Percentiles) *int64 { return p.Max }, paperMaximum},
	} {
		values, err := each(done, "nodes.dut.rx", microsOf(figure.of))
		if err != nil {
			return nil, err
		}
		goal, met := atMost(figure.goal)
		rows = append(rows, receiveRows("round trip while softirqs compete: "+figure.name, "µs", values, goal, met)...)
	}
	more, err := receiveThroughput(ctx, inventory)
	return append(rows, more...), err
}

func receiveThroughput(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	done, err := runExperiment(ctx, inventory, fmt.Sprintf(receiving, "bench-busy-poll-throughput", "", 64, "",
		"method: {kind: rfc2544, tests: [throughput], loads: [], quick: true, trial: 500ms, width: 0.02}", throughputTurns))
	if err != nil {
		return nil, err
	}
	values := map[string][]float64{}
	for _, search := range done.Searches {
		of := result.FormatVariable(search.Variables["nodes.dut.rx"])
		for _, f := range search.Findings {
			if f.Name == "throughput" && f.Value != nil {
				values[of] = append(values[of], *f.Value/1000)
			}
		}
	}
	goal, met := atLeast(paperThroughput)
	return receiveRows("throughput while softirqs compete (RFC 2544)", "kpps", values, goal, met), nil
}

// receiveRows compares each receive mode with interrupts.
func receiveRows(name, unit string, values map[string][]float64, goal string, met func(float64) bool) []Row {
	var rows []Row
	for _, way := range []string{"awake", "threaded", "busy_poll"} {
		rows = append(rows, compare(name+", rx: "+way, unit, median(values[way]), "rx: interrupt", median(values["interrupt"]), goal, met))
	}
	return rows
}
