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

// Environment are the variables of a service: the addresses of the node's interfaces, of those at the other ends of its
// links, and of the traffic's ends, and its own, which win.
func Environment(p *plan.Plan, n plan.Node, s spec.Service) []string {
	v := variables{{"NODE", n.Name}}
	for _, i := range n.Interfaces {
		name := variable(i.Name)
		v.set(name+"_MAC", i.MAC)
		for _, address := range i.Addresses {
			prefix, err := netip.ParsePrefix(address)
			if err != nil {
				continue // the plan has checked them
			}
			v.set(name+family(prefix.Addr()), prefix.Addr().String())
			if prefix.Addr().Is4() {
				v.set(name+"_PREFIX", fmt.Sprint(prefix.Bits()))
			}
		}
		for _, other := range i.Neighbours {
			if address, err := netip.ParseAddr(other.IP); err == nil {
				v.set(name+"_PEER"+family(address), other.IP)
				v.set(name+"_PEER_MAC", other.MAC)
			}
		}
	}
	if t := p.StreamOf(n.Name); t != nil {
		v.set("FROM_IP", t.From.LocalIP)
		v.set("TO_IP", t.To.LocalIP)
		v.set("PORT", fmt.Sprint(t.To.UDPPort))
	}
	var env []string
	for _, one := range v {
		env = append(env, "NINES_"+one.name+"="+one.value)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return env
}

// variables are those with NINES_ before their names.
type variables []struct{ name, value string }

// set sets a variable that has no value yet: of several addresses the first counts. What has no value is not set.
func (v *variables) set(name, value string) {
	has := slices.ContainsFunc(*v, func(one struct{ name, value string }) bool { return one.name == name })
	if value != "" && !has {
		*v = append(*v, struct{ name, value string }{name, value})
	}
}

func family(a netip.Addr) string {
	if a.Is6() {
		return "_IP6"
	}
	return "_IP"
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
