package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"nines.dev/nines/spec"
)

// onLink is a network that a node reaches through an interface without a router.
type onLink struct {
	network netip.Prefix
	through *endpoint
}

// checkRoutes refuses what the kernel would refuse once the lab is built: a next hop that no subnet
// of the node reaches (fib_check_nh_v4_gw in net/ipv4/fib_semantics.c, ip6_route_check_nh in
// net/ipv6/route.c). Routes are added in order, and one without a next hop makes its network
// reachable for those after it.
func (w *work) checkRoutes() error {
	for _, n := range w.nodes {
		var reached []onLink
		for _, e := range n.endpoints {
			if !e.kernel() {
				continue
			}
			for _, a := range e.addresses {
				reached = append(reached, onLink{a.Masked(), e})
			}
		}
		for _, r := range w.routes(n) {
			to, err := n.checkRoute(r, reached)
			if err != nil {
				return at(err, n.steps("routes"))
			}
			if r.Via != "" {
				continue
			}
			for _, e := range n.endpoints {
				if e.name == r.Interface {
					reached = append(reached, onLink{to, e})
				}
			}
		}
	}
	return nil
}

// checkRoute checks one route of a node, and returns its destination network.
func (n *node) checkRoute(r spec.Route, reached []onLink) (netip.Prefix, error) {
	place := strings.TrimSpace(fmt.Sprintf("node %s: route to %s %s", n.name, r.To, routeWay(r)))
	wrong := func(reason, remedy string) (netip.Prefix, error) {
		return netip.Prefix{}, &Conflict{place, reason, remedy}
	}
	via, to := netip.Addr{}, netip.Prefix{}
	var err error
	if r.Via != "" {
		if via, err = netip.ParseAddr(r.Via); err != nil {
			return wrong(fmt.Sprintf("%q is not an address", r.Via), "write it without a prefix length, as 10.0.0.1")
		}
	}
	switch {
	case r.To != "default":
		if to, err = netip.ParsePrefix(r.To); err != nil {
			return wrong(fmt.Sprintf("%q is not a network", r.To), `write it as "10.0.0.0/24", or "default"`)
		}
	case via.Is6():
		to = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	default:
		to = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	if r.Interface != "" {
		i := slices.IndexFunc(n.endpoints, func(e *endpoint) bool { return e.name == r.Interface })
		if i < 0 {
			return wrong("the node has no interface "+r.Interface, "add it to a link")
		}
		e := n.endpoints[i]
		if !e.kernel() {
			return wrong("DPDK has "+e.String()+", and the kernel does not see it", "remove it: the engine needs no route")
		}
		if to.Addr().Is6() && !e.speaks(to.Addr()) {
			return wrong("IPv6 is off on "+e.String()+", which has no IPv6 address", "list one for it in addresses")
		}
	}
	if !via.IsValid() {
		return to, nil
	}
	for _, e := range n.endpoints {
		if slices.ContainsFunc(e.addresses, func(a netip.Prefix) bool { return a.Addr() == via }) {
			return wrong(fmt.Sprintf("%s is the node's own address, of %s", via, e.name), "give the address of the next router")
		}
	}
	if via.Is6() && via.IsLinkLocalUnicast() {
		if r.Interface == "" {
			return wrong("a link-local hop exists on every link", "add interface: to choose one")
		}
		return to, nil
	}
	var have []string
	for _, o := range reached {
		if r.Interface != "" && o.through.name != r.Interface || o.network.Addr().Is4() != via.Is4() {
			continue
		}
		if o.network.Contains(via) {
			return to, nil
		}
		have = append(have, o.through.name+" "+o.network.String())
	}
	what := "no subnet of the node"
	if r.Interface != "" {
		what = "no subnet of " + r.Interface
	}
	has := "it has " + strings.Join(have, ", ")
	if len(have) == 0 {
		has = "it has none of that IP version"
	}
	return wrong(fmt.Sprintf("%s reaches %s; %s", what, via, has),
		"use a hop in one of its subnets, or list addresses so that it has one there")
}

// routeWay is the end of a route as ip(8) writes it.
func routeWay(r spec.Route) string {
	var way []string
	if r.Via != "" {
		way = append(way, "via "+r.Via)
	}
	if r.Interface != "" {
		way = append(way, "dev "+r.Interface)
	}
	return strings.Join(way, " ")
}
