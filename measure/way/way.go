package way

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// noMAC is that of a packet that arrived by a device without MAC addresses.
const noMAC = "00:00:00:00:00:00"

// Seen puts what a receiving engine saw into words; seen is nil where it could not look.
func Seen(p *plan.Plan, seen *client.Seen) *result.SeenPath {
	s := &result.SeenPath{Declared: declared(p.Traffic.Way), Ways: []result.SeenWay{}}
	if seen == nil {
		s.Unseen = "the receiving engine could not look at the packets' headers"
		return s
	}
	s.OtherPackets = seen.Others
	for _, w := range seen.Ways {
		way := result.SeenWay{
			Packets: w.Packets, SourceMAC: w.SourceMAC, DestinationMAC: w.DestinationMAC, TTL: w.TTL, SourceIP: w.SourceIP, DestinationIP: w.DestinationIP,
			SourcePort: w.SourcePort, DestinationPort: w.DestinationPort, IPBytes: w.IPBytes,
		}
		way.Words = words(p, way)
		s.Ways = append(s.Ways, way)
	}
	slices.SortStableFunc(s.Ways, func(a, b result.SeenWay) int { return int(b.Packets) - int(a.Packets) })
	for i, w := range s.Ways {
		switch {
		case i == 0:
			s.Words = w.Words
		case i == 1:
			s.Words += fmt.Sprintf(" (%d of %d packets); otherwise %s", s.Ways[0].Packets, total(s), w.Words)
		case i == 2:
			s.Words += fmt.Sprintf(", and %d more ways", len(s.Ways)-2)
		}
	}
	return s
}

func total(s *result.SeenPath) uint64 {
	all := s.OtherPackets
	for _, w := range s.Ways {
		all += w.Packets
	}
	return all
}

func declared(w *plan.Way) bool {
	return w != nil && (len(w.SourceMACs) > 0 || w.NotSourceMAC != "" || w.TTL > 0 || w.TTLBelow > 0 || len(w.SourceIPs) > 0)
}

// words are what happened to packets on their way, by how their headers differ from those that were sent.
func words(p *plan.Plan, w result.SeenWay) string {
	t := p.Traffic
	from, at := owner(p, w.SourceMAC), ""
	if from != "" {
		at = " by " + strings.SplitN(from, ":", 2)[0]
	}
	var what string
	var changes []string
	lower := plan.SentTTL - w.TTL
	switch {
	case t.RoundTrip && w.SourceIP != t.From.LocalIP && ownerOfIP(p, w.SourceIP) != "":
		what = "returned by " + ownerOfIP(p, w.SourceIP)
		if lower > 0 {
			changes = append(changes, ttl(lower))
		}
	case w.SourceIP != t.From.LocalIP && ownerOfIP(p, w.SourceIP) != "" && lower <= 0:
		what = "relayed by " + ownerOfIP(p, w.SourceIP)
		if lower < 0 {
			changes = append(changes, fmt.Sprintf("TTL %d", w.TTL))
		}
	case w.SourceIP != t.From.LocalIP:
		what = fmt.Sprintf("translated%s: source address %s", at, w.SourceIP)
		if lower != 0 {
			changes = append(changes, ttl(lower))
		}
	case lower > 0:
		what = fmt.Sprintf("routed%s: %s", at, ttl(lower))
	case lower < 0:
		what = fmt.Sprintf("sent again%s: TTL %d", at, w.TTL)
	case w.SourceMAC == t.From.LocalMAC:
		what = "unchanged"
	case w.SourceMAC == noMAC:
		what = "without MAC addresses"
	default:
		what = fmt.Sprintf("forwarded%s: MACs rewritten", at)
	}
	if w.SourcePort != t.From.UDPPort {
		changes = append(changes, fmt.Sprintf("source port %d", w.SourcePort))
	}
	if w.DestinationPort != t.To.UDPPort {
		changes = append(changes, fmt.Sprintf("destination port %d", w.DestinationPort))
	}
	if bytes := t.Stream.FrameBytes - framing; w.IPBytes != bytes && t.Stream.FrameBytes > 0 {
		changes = append(changes, fmt.Sprintf("%+d bytes", w.IPBytes-bytes))
	}
	if from == "" && w.SourceMAC != noMAC && w.SourceMAC != t.From.LocalMAC {
		changes = append(changes, "source MAC "+w.SourceMAC)
	}
	return strings.Join(append([]string{what}, changes...), ", ")
}

// framing is the Ethernet header and the FCS.
const framing = 14 + 4

func ttl(lower int) string { return fmt.Sprintf("TTL -%d", lower) }

// owner is the "node:interface" that has a MAC address; empty: none of the lab.
func owner(p *plan.Plan, mac string) string {
	return find(p, func(i plan.Interface) bool { return i.MAC == mac })
}

func ownerOfIP(p *plan.Plan, ip string) string {
	name, _, _ := strings.Cut(find(p, func(i plan.Interface) bool {
		return slices.ContainsFunc(i.Addresses, func(a string) bool { address, _, _ := strings.Cut(a, "/"); return address == ip })
	}), ":")
	return name
}

func find(p *plan.Plan, is func(plan.Interface) bool) string {
	for _, n := range p.Nodes {
		for _, i := range n.Interfaces {
			if is(i) {
				return n.Name + ":" + i.Name
			}
		}
	}
	return ""
}

// Contradictions say which packets did not take the planned path; none where all did, and where nothing was declared.
func Contradictions(p *plan.Plan, s *result.SeenPath) []string {
	if s == nil || !s.Declared || s.Unseen != "" {
		return nil
	}
	var reasons []string
	all := total(s)
	ways, others := s.Ways, s.OtherPackets
	if p.Corrupts() && len(ways) > 0 {
		ways, others = ways[:1], 0 // the rest may have damaged headers
	}
	for _, w := range ways {
		if differs := contradicts(p.Traffic.Way, w); len(differs) > 0 {
			reasons = append(reasons, fmt.Sprintf("%d of %d packets did not come as planned: %s (%s); %s", w.Packets, all, w.Words, strings.Join(differs, ", "), planned(p)+carried(p, s)))
		}
	}
	if others > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d packets came in more ways than nines keeps apart, so it cannot say that they took the planned path", others, all))
	}
	return reasons
}

// contradicts says what of a packet's headers is not as it was to be.
func contradicts(want *plan.Way, w result.SeenWay) []string {
	var differs []string
	say := func(format string, args ...any) { differs = append(differs, fmt.Sprintf(format, args...)) }
	if len(want.SourceMACs) > 0 && !slices.Contains(want.SourceMACs, w.SourceMAC) && w.SourceMAC != noMAC {
		say("source MAC %s", w.SourceMAC)
	}
	if want.NotSourceMAC != "" && want.NotSourceMAC == w.SourceMAC {
		say("the sender's MAC %s", w.SourceMAC)
	}
	if want.DestinationMAC != "" && want.DestinationMAC != w.DestinationMAC && w.DestinationMAC != noMAC {
		say("destination MAC %s", w.DestinationMAC)
	}
	if want.TTL > 0 && want.TTL != w.TTL || want.TTLBelow > 0 && w.TTL >= want.TTLBelow {
		say("TTL %d", w.TTL)
	}
	if len(want.SourceIPs) > 0 && !slices.Contains(want.SourceIPs, w.SourceIP) {
		say("source address %s", w.SourceIP)
	}
	if want.SourcePort > 0 && want.SourcePort != w.SourcePort {
		say("source port %d", w.SourcePort)
	}
	return differs
}

// carried says which kernels carried packets past the user's device, as they count it.
func carried(p *plan.Plan, s *result.SeenPath) string {
	var text strings.Builder
	forwards, receives := "Ip.ForwDatagrams", "Udp.InDatagrams"
	if p.Traffic.Stream.IP == 6 {
		forwards, receives = "Ip6.OutForwDatagrams", "Udp6.InDatagrams"
	}
	for _, seen := range s.Nodes {
		n, forwarded := p.Node(seen.Node), seen.Counters[forwards]
		if n == nil || !n.App.Handling().IsDevice() || n.App.Handling().Routes() || forwarded == 0 {
			continue
		}
		fmt.Fprintf(&text, "; the kernel of %s forwarded %d packets (%s), its programs received %d by UDP sockets (%s)",
			seen.Node, forwarded, forwards, seen.Counters[receives], receives)
	}
	return text.String()
}

// planned says what the path was to be.
func planned(p *plan.Plan) string {
	var steps []string
	for _, step := range p.Traffic.Way.Steps {
		if step.Leaves != "" {
			steps = append(steps, fmt.Sprintf("%s's device must leave them %s: %s", step.Node, step.Leaves, step.Leaves.Descriptor().Seen))
		} else {
			steps = append(steps, step.Node+": "+step.Does)
		}
	}
	if len(steps) == 0 {
		return "they were to come straight from " + p.Traffic.From.Node
	}
	return strings.Join(steps, "; ")
}
