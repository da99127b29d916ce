package dryrun

import (
	"fmt"
	"strings"

	"nines.dev/nines/plan"
)

// portSteps are the steps for the ports whose virtual functions a plan uses.
func portSteps(add func(string, ...any), p *plan.Plan) {
	for _, port := range p.PhysicalFunctions {
		add("port %s (%s): make %d virtual functions where it has none, and set it up", port.Name, port.Address, port.VFs)
	}
	tested := map[string]bool{}
	for _, l := range p.Links {
		if !l.Cabled() {
			continue
		}
		pair := fmt.Sprintf("%s and %s", l.Endpoints[0].Function.Name, l.Endpoints[1].Function.Name)
		if !tested[pair] {
			add("ports %s: test by a frame that a cable joins them", pair)
		}
		tested[pair] = true
	}
}

// functionSteps are the steps that prepare a link's functions before the nodes start.
func functionSteps(add func(string, ...any), l plan.Link) {
	for _, e := range l.Endpoints {
		f := e.Function
		if f.Address == "" {
			continue
		}
		if !f.Whole() {
			words := []string{fmt.Sprintf("VLAN %d", f.VLAN), "trust " + onOff(f.Trust), "spoof check " + onOff(f.SpoofCheck)}
			if f.RateMbit > 0 {
				words = append(words, fmt.Sprintf("at most %d Mbit/s", f.RateMbit))
			}
			add("link %s: set VF %d of %s (%s) up: the address of %s, %s", l.Name, f.Index, f.Name, f.Address, e.Name(), strings.Join(words, ", "))
		}
		if f.Driver != "" {
			add("link %s: give %s to the driver %s, for a program in %s", l.Name, f.Address, f.Driver, e.Node)
		}
	}
}

// moveSteps are the steps that move the interfaces of functions into nodes.
func moveSteps(add func(string, ...any), l plan.Link) {
	for _, e := range l.Endpoints {
		if e.Function.Driver == "" {
			add("link %s: move the interface of %s into %s as %s, MTU %d", l.Name, e.Function.Address, e.Node, e.Interface, l.MTU)
		}
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
