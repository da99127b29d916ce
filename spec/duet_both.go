package spec

import (
	"maps"
	"slices"
)

// sideBySide is the run of both sides in one lab.
func sideBySide(duet *Duet, sides []Run) Run {
	d := doubledOf(sides)
	both := *sides[0].Experiment
	both.Topology = Topology{Nodes: map[string]*Node{}, RepeatedAddresses: sides[0].Experiment.Topology.RepeatedAddresses}
	nodes, links := &node{kind: mapping}, &node{kind: list} // where the values are in the file, for errors
	add := func(from Run, name, as string, n *Node) {
		both.Topology.Nodes[as] = n
		nodes.entries = append(nodes.entries, entry{&node{text: as}, from.tree.at([]string{"topology", "nodes", name})})
	}
	b := sideBOf(d, sides[0].Experiment)
	for _, name := range slices.Sorted(maps.Keys(sides[0].Experiment.Topology.Nodes)) {
		n := sides[0].Experiment.Topology.Nodes[name]
		if !d.nodes[name] {
			add(sides[0], name, name, b.once(name, n))
			continue
		}
		other := *sides[1].Experiment.Topology.Nodes[name]
		other.Addresses, other.MAC = b.node(name, &other)
		add(sides[0], name, OnSide(name, SideA), n)
		add(sides[1], name, OnSide(name, SideB), &other)
	}
	for i := range sides[0].Experiment.Topology.Links {
		for s, side := range sidesOf(d.links[i]) {
			link := *sides[s].Experiment.Topology.Links[i]
			if d.links[i] {
				d.onSide(&link, side)
			}
			both.Topology.Links = append(both.Topology.Links, &link)
			links.items = append(links.items, sides[s].tree.at(linkSteps(i)))
		}
	}
	pair := *duet
	pair.Replaced, pair.ReplacedMACs = b.addresses, b.macs
	called := labels(sides)
	for s, side := range sidesOf(true) {
		stream := *sides[s].Experiment.Traffic
		stream.From, stream.To = d.endpoint(stream.From, side), d.endpoint(stream.To, side)
		stream.Duration = pair.For
		pair.Sides[s] = Side{Name: side, Label: called[s], Settings: sides[s].Variables, Work: d.works(sides[s].Experiment), Traffic: stream}
	}
	both.Duet, both.Traffic = &pair, &pair.Sides[0].Traffic
	both.Disturb = d.disturbances(both.Disturb)
	return Run{
		Experiment: &both, sides: []*Experiment{sides[0].Experiment, sides[1].Experiment},
		tree: sides[0].tree.with([]string{"topology", "nodes"}, nodes).with([]string{"topology", "links"}, links),
	}
}

// works are those of the nodes that serve both sides.
func (d doubled) works(e *Experiment) map[string]Duration {
	all := map[string]Duration{}
	for name, n := range e.Topology.Nodes {
		if d.once[name] && n.App != nil && n.App.Work > 0 {
			all[name] = n.App.Work
		}
	}
	return all
}

// sidesOf are the sides on which something is: both, or the first for both.
func sidesOf(twice bool) []string {
	if twice {
		return []string{SideA, SideB}
	}
	return []string{SideA}
}

// onSideA is a map by interfaces, in which those that are there twice have their names on side a.
func onSideA[T any](byInterface map[string]T, twice map[string]bool) map[string]T {
	if byInterface == nil {
		return nil
	}
	out := map[string]T{}
	for iface, value := range byInterface {
		if twice[iface] {
			iface = interfaceOnSide(iface, SideA)
		}
		out[iface] = value
	}
	return out
}

// onSides are the aliases of interfaces, of which those that are there twice have one on each side.
func onSides(aliases map[string]string, twice map[string]bool) map[string]string {
	var out map[string]string
	for iface, alias := range aliases {
		if out == nil {
			out = map[string]string{}
		}
		if !twice[iface] {
			out[iface] = alias
			continue
		}
		for _, side := range sidesOf(true) {
			out[interfaceOnSide(iface, side)] = OnSide(alias, side)
		}
	}
	return out
}
