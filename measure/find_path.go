package measure

import (
	"context"
	"fmt"
	"time"

	"nines.dev/nines/measure/way"
	"nines.dev/nines/spec"
)

const (
	// probes are how many packets ask for the path at once, and probeRate how fast: no device loses any of so few.
	probes    = 20
	probeRate = 1000
	// mostRounds bounds how often to ask beyond the patience, on a host so busy that too few probes are sent.
	mostRounds = 5
	// probePause is how long to wait before asking again.
	probePause = 100 * time.Millisecond
)

// probeStream is a run's stream with so few packets that they only ask whether there is a path.
func probeStream(stream spec.Traffic) spec.Traffic {
	stream.RatePPS, stream.RateBits, stream.RateOfMaximum = probeRate, 0, 0
	stream.Warmup, stream.Duration = 0, spec.Duration(probes*time.Second/probeRate)
	stream.Burst, stream.Pattern, stream.Outliers, stream.Packets = 1, spec.PatternConstant, 0, spec.PacketsNone
	return stream
}

// findPath waits until packets come out of the network as planned: a device may have to load, a routing protocol to learn.
// It returns how long that took, and 0 where it is known already, or, where nothing ever came out and that has no planned
// reason, what was found of the path. Packets that come by another way than planned are measured: the trial tells it.
func (b *bench) findPath(ctx context.Context, r run) (awaited time.Duration, blocked *blockedPath, err error) {
	patience := time.Duration(r.stream.PathTimeout)
	if b.proved {
		return 0, nil, nil
	}
	if err := b.takeRedirects(); err != nil || patience == 0 {
		return 0, nil, err
	}
	if b.inVain {
		patience = 0 // it was waited for
	}
	began := time.Now()
	var sent, came uint64
	for told, rounds := false, 1; ; rounds++ {
		outcome, err := b.generator.Probe(ctx, probeStream(r.stream))
		if err != nil || ctx.Err() != nil {
			return 0, nil, err
		}
		sent, came = sent+outcome.Tx.TxPackets+outcome.Tx.TxFailed, came+outcome.Rx.RxPackets
		seen := way.Seen(r.plan, outcome.Rx.Seen)
		if outcome.Rx.RxPackets > 0 && len(way.Contradictions(r.plan, seen)) == 0 {
			b.proved, b.inVain = true, false
			return time.Since(began), nil, nil
		}
		enough := sent >= expectedProbes || rounds >= mostRounds
		if time.Since(began) > patience && enough {
			break
		}
		if !told && time.Since(began) > 2*time.Second {
			told = true
			b.watch.Doing("waiting until packets come as planned")
		}
		if err := pause(ctx, probePause); err != nil {
			return 0, nil, nil // the trial tells that it was interrupted
		}
		if err := b.takeRedirects(); err != nil { // a device's program may be there only now
			return 0, nil, err
		}
	}
	if came == 0 {
		refuse, err := b.mayRefuse(r, sent)
		if err != nil {
			return 0, nil, err
		}
		if refuse {
			b.inVain = true
			blocked, err = b.follow(ctx, r, sent, time.Since(began))
			return 0, blocked, err
		}
	}
	b.proved = true // in vain, but each trial tells for itself
	b.watch.Noted(fmt.Sprintf("packets do not come as planned %v after the lab was ready (traffic: {path_timeout: …}): measured all the same", patience))
	return 0, nil, nil
}

func (b *bench) takeRedirects() error {
	said, err := b.lab.TakeRedirects()
	for _, what := range said {
		b.watch.Noted(what)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
