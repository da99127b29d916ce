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

// linkEnds is a way to fill a link: the backends of its ends.
type linkEnds struct{ from, to spec.Backend }

// The ends also limit what a link carries. With AF_XDP at both ends, bursts leave as XDP frames if
// the link accepts them, which the bridge's ports do not, or else through the socket, where the
// kernel handles each packet separately. Segmented bursts of raw sockets and of rings cross at
// once.
var fillers = []linkEnds{
	{spec.BackendXDP, spec.BackendXDP},
	{spec.BackendRaw, spec.BackendXDP},
	{spec.BackendRing, spec.BackendXDP},
	{spec.BackendRing, spec.BackendRing},
}

// Links are compared in many short rounds, because a host that takes a CPU away spoils some.
const (
	linkRounds  = 9
	linkSeconds = 0.5
)

// benchLinks compares the xdp link with the Linux bridge: packets per second, with the same ends
// and with the best ends for each, and latency at a rate that both carry easily.
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

// best returns the ends with the highest median rate.
func best(pps map[linkEnds][]float64) linkEnds {
	return slices.MaxFunc(fillers, func(a, b linkEnds) int { return cmp.Compare(median(pps[a]), median(pps[b])) })
}
