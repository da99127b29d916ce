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
	s := &result.SeenPath{Declared: slices.ContainsFunc(p.Streams(), func(t *plan.Traffic) bool { return declared(t.Way) }), Ways: []result.SeenWay{}}
	if seen == nil {
		s.Unseen = "the receiving engine could not look at the packets' headers"
		return s
	}
	s.OtherPackets, s.Unseen, s.OfWarmup = seen.Others, seen.Unseen, seen.Unseen != "" && len(seen.Ways) > 0
	for _, w := range seen.Ways {
		way := result.SeenWay{
			Packets: w.Packets, SourceMAC: w.SourceMAC, DestinationMAC: w.DestinationMAC, TTL: w.TTL, SourceIP: w.SourceIP, DestinationIP: w.DestinationIP,
			SourcePort: w.SourcePort, DestinationPort: w.DestinationPort, IPBytes: w.IPBytes,
		}
		way.Words = words(p, streamOf(p, way), way, s.OfWarmup)
		s.Ways = append(s.Ways, way)
	}
	slices.SortStableFunc(s.Ways, func(a, b result.SeenWay) int { return int(b.Packets) - int(a.Packets) })
	if p.Duet == nil {
		s.Words = summary(s.Ways, s.OtherPackets)
		return s
	}
	var sides []string
	for i, t := range p.Streams() {
		ways := slices.DeleteFunc(slices.Clone(s.Ways), func(w result.SeenWay) bool { return streamOf(p, w) != t })
		if text := summary(ways, 0); text != "" {
			sides = append(sides, "side "+p.Duet.Sides[i].Name+": "+text)
		}
	}
	s.Words = strings.Join(sides, "; ")
	return s
}

// summary is what happened to the packets of a stream, the most frequent way first.
func summary(ways []result.SeenWay, others uint64) string {
	all := others
	for _, w := range ways {
		all += w.Packets
	}
	switch len(ways) {
	case 0:
		return ""
	case 1:
		return ways[0].Words
	}
	text := fmt.Sprintf("%s (%d of %d packets); otherwise %s", ways[0].Words, ways[0].Packets, all, ways[1].Words)
	if len(ways) > 2 {
		text += fmt.Sprintf(", and %d more ways", len(ways)-2)
	}
	return text
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

// streamOf is the stream that packets of a way belong to: where there are several, by where they were going.
func streamOf(p *plan.Plan, w result.SeenWay) *plan.Traffic {
	for _, t := range p.Streams() {
		if t.To.LocalIP == w.DestinationIP || t.To.LocalMAC == w.DestinationMAC {
			return t
		}
	}
	return p.Traffic
}

// words are what happened to packets on their way, by how their headers differ from those that were sent, and by their MAC
// addresses, if these could be seen.
func words(p *plan.Plan, t *plan.Traffic, w result.SeenWay, withoutMACs bool) string {
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
	case withoutMACs:
		what = "unchanged or forwarded"
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
	if s == nil || !s.Declared || s.Unseen != "" && !s.OfWarmup {
		return nil
	}
	var reasons []string
	all, of := total(s), ""
	if s.OfWarmup {
		of = " of the warm-up"
	}
	ways, others := s.Ways, s.OtherPackets
	if p.Corrupts() {
		ways, others = mostFrequent(p, ways), 0 // the rest may have damaged headers
	}
	for _, w := range ways {
		t := streamOf(p, w)
		if differs := contradicts(t.Way, w); len(differs) > 0 {
			reasons = append(reasons, fmt.Sprintf("%d of %d packets%s did not come as planned: %s (%s); %s", w.Packets, all, of, w.Words, strings.Join(differs, ", "), planned(t)+carried(p, s)))
		}
	}
	if others > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d packets%s came in more ways than nines keeps apart, so it cannot say that they took the planned path", others, all, of))
	}
	return reasons
}

// mostFrequent is the most frequent way of each stream.
func mostFrequent(p *plan.Plan, ways []result.SeenWay) []result.SeenWay {
	seen := map[*plan.Traffic]bool{}
	return slices.DeleteFunc(slices.Clone(ways), func(w result.SeenWay) bool {
		t := streamOf(p, w)
		another := seen[t]
		seen[t] = true
		return another
	})
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
func planned(t *plan.Traffic) string {
	var steps []string
	for _, step := range t.Way.Steps {
		if step.Leaves != "" {
			steps = append(steps, fmt.Sprintf("%s's device must leave them %s: %s", step.Node, step.Leaves, step.Leaves.Descriptor().Seen))
		} else {
			steps = append(steps, step.Node+": "+step.Does)
		}
	}
	if len(steps) == 0 {
		return "they were to come straight from " + t.From.Node
	}
	return strings.Join(steps, "; ")
}
