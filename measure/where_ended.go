package measure

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"nines.dev/nines/measure/ended"
	"nines.dev/nines/result"
)

// whereEnded sends probes and says in words where they end, and why, as the kernel tells it, and what each node counts
// meanwhile.
func (b *bench) whereEnded(ctx context.Context, r run) (ends []string, nodes []result.SeenNode, sent uint64) {
	unseen := func(err error) []string { return []string{"where they end cannot be seen: " + err.Error()} }
	watch, unwatched := ended.Start(r.plan.Traffic.To.UDPPort)
	if unwatched == nil {
		defer watch.Close()
	}
	before, err := b.readPath(r.plan)
	if err != nil {
		return unseen(err), nil, 0
	}
	for round := 0; round < mostRounds && sent < expectedProbes && ctx.Err() == nil; round++ {
		outcome, err := b.generator.Probe(ctx, probeStream(r.stream))
		if err != nil {
			return unseen(err), nil, sent
		}
		sent += outcome.Tx.TxPackets
	}
	after, err := b.readPath(r.plan)
	if err != nil {
		return unseen(err), nil, sent
	}
	nodes = after.since(before, r.plan)
	if unwatched != nil {
		return unseen(unwatched), nodes, sent
	}
	counted, err := watch.Ends()
	if err != nil {
		return unseen(err), nodes, sent
	}
	places := b.places()
	for _, end := range counted {
		place := places.of(end)
		if place == "" {
			continue // of another network
		}
		ends = append(ends, fmt.Sprintf("%d of %d probes ended at %s: %s", min(end.Packets, sent), sent, place, end.Why()))
	}
	if len(ends) == 0 {
		ends = append(ends, "the kernel reported no drop of the probes: a program may have them, or something that reports none; inspect the path with 'nines up' and 'nines capture'")
	}
	return ends, nodes, sent
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
