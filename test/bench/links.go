package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// easyPPS is a rate that both links carry without queueing.
const easyPPS = 10_000

// linkEnds are ways to fill a link: the ends' backends.
type linkEnds struct{ from, to spec.Backend }

// What a link carries is bounded by its ends too. AF_XDP at both sends bursts as XDP frames
// where the link takes them, which the bridge's ports do not, or else by the socket, where
// the kernel handles each packet alone; segmented bursts of raw sockets and of rings cross
// in one go.
var fillers = []linkEnds{
	{spec.BackendXDP, spec.BackendXDP},
	{spec.BackendRaw, spec.BackendXDP},
	{spec.BackendRing, spec.BackendXDP},
	{spec.BackendRing, spec.BackendRing},
}

// Links are compared by many short rounds: a host that takes a CPU away spoils some.
const (
	linkRounds  = 9
	linkSeconds = 0.5
)

// benchLinks holds the xdp link against the Linux bridge: how many packets a
// second, with the same ends and with those that fill each best, and how late at a
// rate that both carry with ease.
func benchLinks(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	kinds := []spec.LinkKind{spec.LinkBridge, spec.LinkXDP}
	arenas := make(map[spec.LinkKind]*arena)
	pps, p50 := make(map[spec.LinkKind]map[linkEnds][]float64), make(map[spec.LinkKind][]float64)
	for _, kind := range kinds {
		a, err := openArena(ctx, inventory, kind)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, a.close()) }()
		arenas[kind], pps[kind] = a, make(map[linkEnds][]float64)
	}
	for range linkRounds {
		for _, kind := range kinds {
			for _, ends := range fillers {
				_, rate, err := arenas[kind].ratesPPS(ctx, stream{
					backend: ends.from, sink: ends.to, io: spec.IOBatch, wait: spec.WaitSpin, burst: tableBurst, seconds: linkSeconds,
				})
				if err != nil {
					return nil, fmt.Errorf("%s: %w", kind, err)
				}
				pps[kind][ends] = append(pps[kind][ends], rate)
			}
			late, err := arenas[kind].medianMicros(ctx, stream{
				backend: spec.BackendXDP, io: spec.IOSingle, wait: spec.WaitSpin, ratePPS: easyPPS, seconds: linkSeconds,
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			p50[kind] = append(p50[kind], late)
		}
	}
	twice, metTwice := atLeast(2)
	lower, metLower := atMost(1)
	bestXDP, bestBridge := best(pps[spec.LinkXDP]), best(pps[spec.LinkBridge])
	same := fillers[0]
	return []Row{
		compare("xdp link, AF_XDP ends", "kpps", median(pps[spec.LinkXDP][same])/1000,
			"bridge, the same ends", median(pps[spec.LinkBridge][same])/1000, twice, metTwice),
		compare("xdp link, fastest ends: "+bestXDP.String(), "kpps", median(pps[spec.LinkXDP][bestXDP])/1000,
			"bridge, fastest ends: "+bestBridge.String(), median(pps[spec.LinkBridge][bestBridge])/1000, twice, metTwice),
		compare("xdp link, AF_XDP ends: p50", "µs", median(p50[spec.LinkXDP]),
			"bridge, the same ends", median(p50[spec.LinkBridge]), lower, metLower),
	}, nil
}

func (e linkEnds) String() string { return fmt.Sprintf("%s to %s", e.from, e.to) }

// best is the way with the highest median rate.
func best(pps map[linkEnds][]float64) linkEnds {
	return slices.MaxFunc(fillers, func(a, b linkEnds) int { return cmp.Compare(median(pps[a]), median(pps[b])) })
}
