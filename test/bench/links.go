package main

import (
	"context"
	"errors"
	"fmt"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/host"
)

// easyPPS is a rate that both links carry without queueing.
const easyPPS = 10_000

// benchLinks holds the xdp link against the Linux bridge: how many packets a
// second, and how late at a rate that both carry with ease.
func benchLinks(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	arenas := make(map[spec.LinkKind]*arena)
	for _, kind := range []spec.LinkKind{spec.LinkBridge, spec.LinkXDP} {
		a, err := openArena(ctx, inventory, kind)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, a.close()) }()
		arenas[kind] = a
	}
	pps, p50 := make(map[spec.LinkKind][]float64), make(map[spec.LinkKind][]float64)
	for range throughputRounds {
		for kind, a := range arenas {
			_, rate, err := a.ratesPPS(ctx, stream{
				backend: spec.BackendXDP, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst, seconds: throughputSeconds,
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			late, err := a.medianMicros(ctx, stream{
				backend: spec.BackendXDP, io: spec.IOSingle, wait: spec.WaitSpin, ratePPS: easyPPS, seconds: latencySeconds,
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			pps[kind], p50[kind] = append(pps[kind], rate), append(p50[kind], late)
		}
	}
	twice, metTwice := atLeast(2)
	lower, metLower := atMost(1)
	return []Row{
		compare("xdp link, AF_XDP ends", "kpps", median(pps[spec.LinkXDP])/1000,
			"bridge, the same ends", median(pps[spec.LinkBridge])/1000, twice, metTwice),
		compare("xdp link, AF_XDP ends: p50", "µs", median(p50[spec.LinkXDP]),
			"bridge, the same ends", median(p50[spec.LinkBridge]), lower, metLower),
	}, nil
}
