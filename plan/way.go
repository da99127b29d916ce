package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/spec"
)

// SentTTL is the TTL that engines send with (FRAME_TTL of engine/packet/frame.h).
const SentTTL = 64

// Way is what must be seen of packets where they arrive, if they took the path that was planned. An empty field may be
// anything: of a device that the file says nothing about, and where a network is not the lab's own.
type Way struct {
	// SourceMACs are those of the interface by which packets leave the last node; NotSourceMAC is one that they must not
	// have.
	SourceMACs     []string `json:"source_macs,omitempty"`
	NotSourceMAC   string   `json:"not_source_mac,omitempty"`
	DestinationMAC string   `json:"destination_mac,omitempty"`
	// TTL is exact, and TTLBelow a bound.
	TTL       int      `json:"ttl,omitempty"`
	TTLBelow  int      `json:"ttl_below,omitempty"`
	SourceIPs []string `json:"source_ips,omitempty"`
	// SourcePort is that of flow 0.
	SourcePort int `json:"source_port,omitempty"`
	// Steps say node by node what is done to the packets.
	Steps []WayStep `json:"steps"`
}

// WayStep is what one node does to packets, in words.
type WayStep struct {
	Node string `json:"node"`
	// Leaves is as the file says of a device.
	Leaves spec.Leaves `json:"leaves,omitempty"`
	Does   string      `json:"does"`
}

// Corrupts is true where a link damages packets deliberately.
func (p *Plan) Corrupts() bool {
	return slices.ContainsFunc(p.Links, func(l Link) bool {
		return slices.ContainsFunc(l.Impairments, func(i Impairment) bool { return i.Corrupt > 0 })
	})
}

// way follows packets along the traffic's path.
func (w *work) way(c course) *Way {
	hops := hopsOf(c.path)
	if len(hops) == 0 {
		return &Way{Steps: []WayStep{}}
	}
	first := hops[0].out
	_, mac := w.peer(hops, 0)
	seen := &Way{SourceMACs: []string{first.mac}, DestinationMAC: mac, TTL: SentTTL, SourceIPs: []string{first.ipText()}, SourcePort: w.udpPort(), Steps: []WayStep{}}
	for i, h := range hops {
		if h.out.foreign() || h.in.foreign() {
			seen.open()
		}
		if i+1 < len(hops) {
			_, mac = w.peer(hops, i+1)
			does := seen.pass(w, c, h.in, hops[i+1].out, mac)
			seen.Steps = append(seen.Steps, WayStep{Node: h.in.node.name, Leaves: h.in.node.app().Leaves, Does: does})
		}
	}
	return seen
}

// foreign is true for an end of a network that is not the lab's own: what a cluster, or a cable, does with packets is not
// known.
func (e *endpoint) foreign() bool { return e.remote() || e.function.Address != "" }

// open forgets what was expected.
func (s *Way) open() { *s = Way{Steps: s.Steps} }

// pass is what a node does to packets that come in and go out, with the MAC address that they go to next.
func (s *Way) pass(w *work, c course, in, out *endpoint, next string) string {
	h := in.node.app()
	switch {
	case h.HasEngine() && w.appBackend(in.node) == spec.BackendUDP:
		s.sendAnew(out, next, SentTTL)
		s.SourcePort = w.udpPort()
		return fmt.Sprintf("nines' %s receives and sends them: MAC and IP address of %s, TTL %d", h.Kind, out, SentTTL)
	case h.HasEngine():
		s.rewritten(out, next)
		if h.SendsBack() {
			s.SourceIPs = []string{out.ipText()}
			return fmt.Sprintf("nines' %s swaps their MAC and IP addresses", h.Kind)
		}
		return fmt.Sprintf("nines' %s rewrites their MAC addresses", h.Kind)
	case !h.IsDevice():
		s.routed(out, next)
		if in.node.spec.App.Dynamic {
			s.SourceMACs, s.DestinationMAC = others(out, c.to()), ""
		}
		return fmt.Sprintf("the kernel routes them: MAC address of %s, a lower TTL", out)
	}
	d := h.Leaves.Descriptor()
	switch h.Leaves {
	case spec.LeavesUnchanged:
	case spec.LeavesForwarded:
		if len(s.SourceMACs) == 1 {
			s.NotSourceMAC = s.SourceMACs[0]
		}
		s.SourceMACs, s.DestinationMAC = nil, ""
	case spec.LeavesRouted:
		s.routed(out, next)
	case spec.LeavesTranslated:
		s.routed(out, next)
		s.SourceIPs, s.SourcePort = nil, 0
	case spec.LeavesRelayed:
		s.sendAnew(out, next, 0)
		for _, e := range in.node.endpoints { // a program may send from whichever address it listens on
			if e != out {
				s.SourceIPs = append(s.SourceIPs, e.ips()...)
			}
		}
		s.SourcePort = 0
	case spec.LeavesReturned:
		s.rewritten(out, next)
		s.TTL, s.TTLBelow, s.SourceIPs, s.SourcePort = 0, 0, nil, 0
	default:
		s.open()
		return "your device passes them on; the result reports what it changed"
	}
	return fmt.Sprintf("your device (leaves: %s): %s", h.Leaves, d.Seen)
}

func (s *Way) rewritten(out *endpoint, next string) {
	s.SourceMACs, s.NotSourceMAC, s.DestinationMAC = []string{out.mac}, "", next
}

// routed lowers the TTL: a router of several in one node lowers it more than once.
func (s *Way) routed(out *endpoint, next string) {
	s.rewritten(out, next)
	if s.TTL > 0 {
		s.TTL, s.TTLBelow = 0, s.TTL
	}
}

func (s *Way) sendAnew(out *endpoint, next string, ttl int) {
	s.rewritten(out, next)
	s.TTL, s.TTLBelow, s.SourceIPs = ttl, 0, out.ips()
}

// ips are the interface's addresses of the traffic's IP version.
func (e *endpoint) ips() []string {
	var list []string
	for _, a := range e.addresses {
		if a.Addr().Is4() == e.ip().Is4() {
			list = append(list, a.Addr().String())
		}
	}
	return list
}

// others are the MAC addresses of a last link: a routing protocol chooses the router.
func others(out, last *endpoint) []string {
	var macs []string
	for _, e := range last.link.endpoints {
		if e != last {
			macs = append(macs, e.mac)
		}
	}
	if len(macs) == 0 {
		return []string{out.mac}
	}
	slices.Sort(macs)
	return macs
}
