package service

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Environment are the variables of a service: the addresses of the node's interfaces and of their
// peers on the traffic's path, and its own, which win.
func Environment(p *plan.Plan, n plan.Node, s spec.Service) []string {
	env := []string{"NINES_NODE=" + n.Name}
	for _, i := range n.Interfaces {
		name := "NINES_" + variable(i.Name)
		env = append(env, name+"_MAC="+i.MAC)
		for _, address := range i.Addresses {
			prefix, err := netip.ParsePrefix(address)
			if err != nil {
				continue // the plan has checked them
			}
			family := "_IP"
			if prefix.Addr().Is6() {
				family = "_IP6"
			}
			if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+family+"=") }) {
				env = append(env, name+family+"="+prefix.Addr().String())
			}
		}
	}
	if n.App != nil {
		for _, port := range n.App.Ports {
			name := "NINES_" + variable(port.Interface)
			env = append(env, name+"_PEER_IP="+port.PeerIP, name+"_PEER_MAC="+port.PeerMAC)
		}
	}
	if p.Traffic != nil {
		env = append(env, fmt.Sprintf("NINES_PORT=%d", p.Traffic.To.UDPPort))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return env
}

// variable is a name as a part of a variable's.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}
