package main

import (
	"context"
	"errors"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// benchMemif compares two engines over shared memory, which stamp, read and record every packet,
// with testpmd over the same kind of link, which does none of these.
func benchMemif(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	a, err := openPair(ctx, inventory, spec.LinkMemif)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	var ours, peers []float64
	for range throughputRounds {
		peer, err := testpmdMemifPPS(ctx, a.plan.Traffic.FromCPU, a.plan.Traffic.ToCPU)
		if err != nil {
			return nil, err
		}
		_, received, err := a.ratesPPS(ctx, polled(0, throughputSeconds))
		if err != nil {
			return nil, err
		}
		ours, peers = append(ours, received), append(peers, peer)
	}
	goal, met := atLeast(0.6)
	return []Row{compare("memif, received and recorded", "Mpps", median(ours)/1e6,
		"testpmd txonly, rxonly", median(peers)/1e6, goal, met)}, nil
}
