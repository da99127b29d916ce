package measure

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/measure/ended"
	"nines.dev/nines/plan"
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
	if err := b.forgetMTUs(r.plan); err != nil {
		return unseen(err), nil, 0
	}
	var refused uint64
	for round := 0; round < mostRounds && sent+refused < expectedProbes && ctx.Err() == nil; round++ {
		outcome, err := b.generator.Probe(ctx, probeStream(r.stream))
		if err != nil {
			return unseen(err), nil, sent
		}
		sent, refused = sent+outcome.Tx.TxPackets, refused+outcome.Tx.TxFailed
	}
	after, err := b.readPath(r.plan)
	if err != nil {
		return unseen(err), nil, sent
	}
	nodes = after.since(before, r.plan)
	if unwatched != nil {
		return unseen(unwatched), nodes, sent
	}
	places := b.places()
	began := time.Now()
	for {
		counted, err := watch.Ends()
		if err != nil {
			return unseen(err), nodes, sent
		}
		for _, end := range counted {
			place := places.of(end)
			if place == "" || leftAll(r.plan, nodes, place, end.Packets) {
				continue // of another network, or the kernel's own copy of what a program took
			}
			ends = append(ends, fmt.Sprintf("%d of %d probes ended at %s: %s", min(end.Packets, sent), sent, place, end.Why()))
		}
		if len(ends) > 0 || time.Since(began) > neighbourPatience || pause(ctx, probePause) != nil {
			break
		}
	}
	if refused > 0 {
		ends = append(ends, fmt.Sprintf("%d more were refused by the sender's kernel, which had no way for them, or was told that they are larger than the path's MTU", refused))
	}
	if len(ends) == 0 {
		ends = append(ends, "the kernel reported no drop of the probes: a program may have them, or something that reports none; inspect the path with 'nines up' and 'nines capture'")
	}
	return ends, nodes, sent
}

// forgetMTUs has the senders' kernels forget the MTUs that they were told (RFC 1191, RFC 8201): then the next packets leave,
// and end where they are too large.
func (b *bench) forgetMTUs(p *plan.Plan) error {
	for _, t := range p.Streams() {
		n, running := p.Node(t.From.Node), b.lab.Running(t.From.Node)
		if n == nil || n.Apart() || running == nil {
			continue
		}
		ns, err := running.Namespace()
		if err != nil {
			return err
		}
		for _, name := range []string{"net/ipv4/route/flush", "net/ipv6/route/flush"} {
			if wrong := ns.Sysctl(name, "1"); !errors.Is(wrong, netns.ErrNoSysctl) {
				err = errors.Join(err, wrong)
			}
		}
		if err = errors.Join(err, ns.Close()); err != nil {
			return fmt.Errorf("node %s: %w", t.From.Node, err)
		}
	}
	return nil
}

// neighbourPatience is how long the kernel keeps packets for a neighbour that does not answer: three times a second
// (mcast_solicit and retrans_time_ms, Documentation/networking/ip-sysctl.rst), and a little more.
const neighbourPatience = 3500 * time.Millisecond

// leftAll is true where as many packets left a node as ended at one of its interfaces: a program has taken them by a
// packet socket, and what the kernel dropped was its own copy.
func leftAll(p *plan.Plan, nodes []result.SeenNode, place string, packets uint64) bool {
	node, _, _ := strings.Cut(place, ":")
	for _, t := range p.Streams() {
		for i := 2; i < len(t.Path); i += 2 { // where packets leave a node that they came to
			of, name, _ := strings.Cut(t.Path[i], ":")
			at := slices.IndexFunc(nodes, func(s result.SeenNode) bool { return s.Node == of })
			if of == node && at >= 0 && nodes[at].Interfaces[name]["tx_packets"] >= packets {
				return true
			}
		}
	}
	return false
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
