package plan

import (
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// Change is Make for a lab that runs; nil: none does. What its nodes and links have stays theirs, as far as the file and
// the host allow: names, addresses, ports, functions and CPUs go by the names of nodes, interfaces and links, not by
// their places or number. So a change of the file concerns only what it names.
func Change(running *Plan, exp *spec.Experiment, inv *host.Inventory) (*Plan, error) {
	return makeFrom(exp, inv, running)
}

// kept is what the running lab has. That of a lab that does not run has nothing.
type kept struct {
	*Index
	plan *Plan
	// links, ends and interfaces are the places of links in the lab, of endpoints on their links, and of interfaces in
	// their nodes.
	links, ends, interfaces map[string]int
	// engines are the CPUs of the nodes' engines.
	engines map[string]int
}

func keptOf(running *Plan) *kept {
	if running == nil {
		running = &Plan{}
	}
	k := &kept{Index: running.Index(), plan: running, links: map[string]int{}, ends: map[string]int{}, interfaces: map[string]int{}, engines: map[string]int{}}
	for _, e := range running.engines() {
		k.engines[e.node] = e.cpu
	}
	for i, l := range running.Links {
		k.links[l.Name] = i
		for j, e := range l.Endpoints {
			k.ends[e.Name()] = j
		}
	}
	for _, n := range running.Nodes {
		for i, e := range n.Interfaces {
			k.interfaces[endName(n.Name, e.Name)] = i
		}
	}
	return k
}

// of is what the running lab has of an interface; nil where it is not there, or on another link.
func (k *kept) of(e *endpoint) *Interface {
	if i := k.Interface(Endpoint{Node: e.node.name, Interface: e.name}); i != nil && i.Link == e.link.name {
		return i
	}
	return nil
}

// keepOrder puts what the running lab has first, in its order, since much is numbered by it: devices, sockets, ports of
// an app, slots of a guest's bus, seeds of impairments.
func (w *work) keepOrder() error {
	sortKept(w.links, w.before.links, func(l *link) string { return l.name })
	for _, l := range w.links {
		if !l.kind.Descriptor().End.IsHardware() { // there the file's order says which port or device is whose
			sortKept(l.endpoints, w.before.ends, (*endpoint).String)
		}
	}
	for _, n := range w.nodes {
		sortKept(n.endpoints, w.before.interfaces, (*endpoint).String)
	}
	return nil
}

func sortKept[T any](list []T, places map[string]int, name func(T) string) {
	place := func(one T) int {
		if at, has := places[name(one)]; has {
			return at
		}
		return len(places)
	}
	slices.SortStableFunc(list, func(a, b T) int { return place(a) - place(b) })
}
