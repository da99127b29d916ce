package main

import (
	"context"
	"fmt"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// bypassBurst is the burst of paper 001's figures for poll-mode ends.
const bypassBurst = 32

// polled returns a stream of 64-byte frames between two DPDK ends.
func polled(ratePPS float64, seconds float64) stream {
	return stream{
		backend: spec.BackendDPDK, io: spec.IOBatch, wait: spec.WaitSpin,
		burst: bypassBurst, ratePPS: ratePPS, seconds: seconds,
	}
}

// openPair connects the engines of two nodes, with one CPU each, by a link without a program.
func openPair(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (*arena, error) {
	return open(ctx, inventory, fmt.Sprintf(`name: bench-%s
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, kind: %s, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 1000, backend: dpdk}
dpdk: {hugepages: reserve}
`, kind, kind))
}

// openLoop connects two ports of one engine through a program that forwards on another CPU.
func openLoop(ctx context.Context, inventory *host.Inventory, kind spec.LinkKind) (*arena, error) {
	return open(ctx, inventory, fmt.Sprintf(`name: bench-%s
topology:
  nodes: {a: {}}
  links: [{name: wire, kind: %s, endpoints: ["a:tx", "a:rx"]}]
traffic: {from: "a:tx", to: "a:rx", rate_pps: 1000, backend: dpdk}
dpdk: {hugepages: reserve}
`, kind, kind))
}
