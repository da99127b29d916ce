package plan

import (
	"cmp"

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
	n, i := p.Node(port.Node), p.Interface(Endpoint{Node: port.Node, Interface: port.Interface})
	if i == nil || n.Guest() || i.RX.Polls() || i.RX == spec.ReceiveSuspend {
		return false
	}
	l := p.Link(i.Link)
	return l != nil && l.Kind.Descriptor().XDPFrames && !l.Impaired()
}
