package plan

import (
	"cmp"
	"slices"

	"nines.dev/nines/spec"
)

// MayBeXDPFrames is true if large bursts of the traffic may leave as XDP frames: pages of a pool,
// which an AF_XDP socket gives back at once where softirqs of the sender's CPU bring them there.
// With another engine between the ends, or a polling thread, they would keep their memory for a
// second; and other links do not carry them.
func (p *Plan) MayBeXDPFrames(t *Traffic) bool {
	from, to := cmp.Or(t.From.Backend, t.Stream.Backend), cmp.Or(t.To.Backend, t.Stream.Backend)
	if from != spec.BackendXDP || to != spec.BackendXDP || t.Stream.IO != spec.IOBatch ||
		t.Stream.Wait == spec.WaitBusyPoll || t.RoundTrip || len(t.Path) != 2 {
		return false
	}
	for _, port := range []Port{t.From, t.To} {
		if !p.softirqsReceive(port) {
			return false
		}
	}
	return true
}

// softirqsReceive is true for an end in the host's kernel that no thread polls, of a link that
// carries XDP frames.
func (p *Plan) softirqsReceive(port Port) bool {
	n := slices.IndexFunc(p.Nodes, func(n Node) bool { return n.Name == port.Node })
	if n < 0 || p.Nodes[n].Guest() {
		return false
	}
	for _, i := range p.Nodes[n].Interfaces {
		if i.Name == port.Interface {
			return !i.RX.Polls() && i.RX != spec.ReceiveSuspend && slices.ContainsFunc(p.Links, func(l Link) bool {
				return l.Name == i.Link && l.Kind.Descriptor().XDPFrames && !l.Impaired()
			})
		}
	}
	return false
}
