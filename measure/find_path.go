package measure

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/measure/ended"
	"nines.dev/nines/measure/way"
	"nines.dev/nines/spec"
)

const (
	// probes are how many packets ask for the path at once, and probeRate how fast: no device loses any of so few.
	probes    = 20
	probeRate = 1000
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
// It returns how long that took, and 0 where it is known already. Where they never come, the trial tells it.
func (b *bench) findPath(ctx context.Context, r run) (time.Duration, error) {
	patience := time.Duration(r.stream.PathTimeout)
	if b.proved {
		return 0, nil
	}
	if err := b.takeRedirects(); err != nil || patience == 0 {
		return 0, err
	}
	b.proved = true // once, even if in vain: each trial tells for itself
	began := time.Now()
	for told := false; ; {
		outcome, err := b.generator.Probe(ctx, probeStream(r.stream))
		if err != nil || ctx.Err() != nil {
			return 0, err
		}
		seen := way.Seen(r.plan, outcome.Rx.Seen)
		if outcome.Rx.RxPackets > 0 && len(way.Contradictions(r.plan, seen)) == 0 {
			return time.Since(began), nil
		}
		if time.Since(began) > patience {
			b.watch.Noted(fmt.Sprintf("packets do not come as planned %v after the lab was ready (traffic: {path_timeout: …}): measured all the same", patience))
			return 0, nil
		}
		if !told && time.Since(began) > 2*time.Second {
			told = true
			b.watch.Doing("waiting until packets come as planned")
		}
		if err := pause(ctx, probePause); err != nil {
			return 0, nil // the trial tells that it was interrupted
		}
		if err := b.takeRedirects(); err != nil { // a device's program may be there only now
			return 0, err
		}
	}
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

// whereEnded sends probes and says in words where they end, and why, as the kernel tells it.
func (b *bench) whereEnded(ctx context.Context, r run) []string {
	unseen := func(err error) []string { return []string{"where they end cannot be seen: " + err.Error()} }
	watch, err := ended.Start(r.plan.Traffic.To.UDPPort)
	if err != nil {
		return unseen(err)
	}
	defer watch.Close()
	outcome, err := b.generator.Probe(ctx, probeStream(r.stream))
	if err != nil {
		return unseen(err)
	}
	ends, err := watch.Ends()
	if err != nil {
		return unseen(err)
	}
	places := b.places()
	var list []string
	for _, end := range ends {
		place := places.of(end)
		if place == "" {
			continue // of another network
		}
		list = append(list, fmt.Sprintf("%d of %d probes ended at %s: %s", min(end.Packets, outcome.Tx.TxPackets), outcome.Tx.TxPackets, place, end.Why()))
	}
	if len(list) == 0 {
		list = append(list, "the kernel reported no drop of the probes: a program may have them, or something that reports none; inspect the path with 'nines up' and 'nines capture'")
	}
	return list
}

// places are the lab's network name spaces, by inode.
type places map[uint64]space

type space struct {
	node string
	// interfaces are the names by index.
	interfaces map[int]string
}

func (b *bench) places() places {
	found := places{}
	for _, n := range b.lab.Plan().Nodes {
		running := b.lab.Running(n.Name)
		if running == nil || n.Apart() {
			continue
		}
		ns, err := running.Namespace()
		if err != nil {
			continue // it has ended: no packet ends there
		}
		s := space{n.Name, map[int]string{}}
		inode, err := ns.Inode()
		if err == nil {
			err = ns.Do(func() error {
				devices, err := net.Interfaces()
				for _, d := range devices {
					s.interfaces[d.Index] = d.Name
				}
				return err
			})
		}
		_ = ns.Close()
		if err == nil {
			found[inode] = s
		}
	}
	return found
}

// of names the place where packets ended; empty: it is none of the lab's. A socket has forgotten the interface.
func (p places) of(e ended.End) string {
	if e.Netns == 0 {
		return "a node's socket"
	}
	s, ours := p[e.Netns]
	switch {
	case !ours:
		return ""
	case s.interfaces[e.Ifindex] == "":
		return s.node
	}
	return s.node + ":" + s.interfaces[e.Ifindex]
}

// endedWords are the reasons for a trial without packets.
func endedWords(ends []string) string {
	if len(ends) == 0 {
		return "inspect the path with 'nines up' and 'nines capture'"
	}
	return strings.Join(slices.Compact(ends), "; ")
}
