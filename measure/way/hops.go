package way

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/result"
)

// drops are the counters of a node that tell of packets it did not pass on (/proc/net/snmp and netstat).
var drops = []string{
	"Ip.InHdrErrors", "Ip.InAddrErrors", "Ip.InDiscards", "Ip.OutDiscards", "Ip.OutNoRoutes", "IpExt.InNoRoutes", "TcpExt.IPReversePathFilter",
	"Udp.NoPorts", "Udp.InErrors", "Udp.RcvbufErrors", "Udp.InCsumErrors",
}

// Hops says in words what the interfaces along the path counted, and which packets each node dropped. It is empty where
// nothing was counted.
func Hops(p *plan.Plan, seen []result.SeenNode) string {
	if len(seen) == 0 {
		return ""
	}
	var hops []string
	for _, t := range p.Streams() {
		hops = append(hops, hopsOf(p, t, seen)...)
	}
	return strings.Join(hops, ", ")
}

func hopsOf(p *plan.Plan, t *plan.Traffic, seen []result.SeenNode) []string {
	path := slices.Clone(t.Path)
	if t.RoundTrip {
		back := slices.Clone(path)
		slices.Reverse(back)
		path = append(path, back...)
	}
	var hops []string
	for i, endpoint := range path {
		node, name, _ := strings.Cut(endpoint, ":")
		at := slices.IndexFunc(seen, func(s result.SeenNode) bool { return s.Node == node })
		did, counter := "sent", "tx"
		if i%2 == 1 {
			did, counter = "received", "rx"
		}
		if at < 0 || !inKernel(p, node, name) {
			hops = append(hops, fmt.Sprintf("%s %s what the kernel does not count", endpoint, did))
			continue
		}
		counts := seen[at].Interfaces[name]
		hop := fmt.Sprintf("%s %s %d", endpoint, did, counts[counter+"_packets"])
		if lost := counts[counter+"_dropped"] + counts[counter+"_errors"]; lost > 0 {
			hop += fmt.Sprintf(" and dropped %d", lost)
		}
		if i%2 == 1 {
			hop += dropped(seen[at])
		}
		hops = append(hops, hop)
	}
	return hops
}

func inKernel(p *plan.Plan, node, name string) bool {
	n := p.Node(node)
	return n != nil && slices.ContainsFunc(n.Interfaces, func(i plan.Interface) bool { return i.Name == name && i.InKernel() })
}

// dropped are a node's counters of drops, in brackets.
func dropped(seen result.SeenNode) string {
	var list []string
	for _, name := range drops {
		if n := seen.Counters[name]; n > 0 {
			list = append(list, fmt.Sprintf("%s %d", name, n))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}
