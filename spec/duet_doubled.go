package spec

import (
	"maps"
	"reflect"
	"slices"
)

// doubled says which nodes and links of a duet are there twice: the path between the traffic's ends, what differs, and all
// that is joined to these. The once are there for both: the traffic's ends, and forwarders of nines' that are the same on
// both sides, as one thread serves both.
type doubled struct {
	once, nodes map[string]bool
	links       map[int]bool
}

func doubledOf(sides []Run) doubled {
	a, b := sides[0].Experiment, sides[1].Experiment
	d := doubled{map[string]bool{}, map[string]bool{}, map[int]bool{}}
	for _, end := range []string{a.Traffic.From, a.Traffic.To} {
		name, _ := splitEndpoint(end)
		d.once[name] = true
	}
	c := &checker{e: a, root: sides[0].tree, errs: &collector{}, ends: map[string]int{}, interfaces: map[string][]string{}}
	c.links() // both sides have the same
	path, _ := c.route(a.Traffic.From, a.Traffic.To)
	passed := map[string]bool{}
	for _, i := range path {
		d.links[i] = true
		for _, endpoint := range a.Topology.Links[i].Endpoints {
			name, _ := splitEndpoint(endpoint)
			passed[name] = true
		}
	}
	for name, one := range a.Topology.Nodes {
		same := reflect.DeepEqual(one.withWork(0), b.Topology.Nodes[name].withWork(0)) // one thread may work longer for a side
		d.once[name] = d.once[name] || same && passed[name] && one.onlyForwards()
		d.nodes[name] = !d.once[name] && !reflect.DeepEqual(one, b.Topology.Nodes[name])
	}
	for i, link := range a.Topology.Links {
		d.links[i] = d.links[i] || !reflect.DeepEqual(link, b.Topology.Links[i])
	}
	for grown := true; grown; {
		grown = false
		for i, link := range a.Topology.Links {
			for _, endpoint := range link.Endpoints {
				name, _ := splitEndpoint(endpoint)
				if d.nodes[name] && !d.links[i] {
					d.links[i], grown = true, true
				}
				if d.links[i] && !d.nodes[name] && !d.once[name] {
					d.nodes[name], grown = true, true
				}
			}
		}
	}
	return d
}

// endpoint is an endpoint on a side.
func (d doubled) endpoint(endpoint, side string) string {
	name, iface := splitEndpoint(endpoint)
	if d.nodes[name] {
		return OnSide(name, side) + ":" + iface
	}
	return name + ":" + interfaceOnSide(iface, side)
}

// onSide gives a link that is built twice the names of a side.
func (d doubled) onSide(link *Link, side string) {
	link.Name = OnSide(link.Name, side)
	link.Endpoints = slices.Clone(link.Endpoints)
	for i, endpoint := range link.Endpoints {
		link.Endpoints[i] = d.endpoint(endpoint, side)
	}
	link.RX = renamed(link.RX, d, side)
	link.ImpairFrom = renamed(link.ImpairFrom, d, side)
	if link.Switch != nil {
		program := *link.Switch
		program.Ports = renamed(program.Ports, d, side)
		link.Switch = &program
	}
}

// renamed is a map by endpoints with those of a side.
func renamed[T any](byEndpoint map[string]T, d doubled, side string) map[string]T {
	if byEndpoint == nil {
		return nil
	}
	out := map[string]T{}
	for endpoint, value := range byEndpoint {
		out[d.endpoint(endpoint, side)] = value
	}
	return out
}

// disturbances has that of a node that is built twice on both sides.
func (d doubled) disturbances(all map[string]*Disturbance) map[string]*Disturbance {
	out := maps.Clone(all)
	for name, one := range all {
		if !d.nodes[one.Node] {
			continue
		}
		delete(out, name)
		for _, side := range []string{SideA, SideB} {
			copied := *one
			copied.Node = OnSide(one.Node, side)
			out[OnSide(name, side)] = &copied
		}
	}
	return out
}

// withWork is the node with another work of its engine.
func (n *Node) withWork(work Duration) *Node {
	if n == nil || n.App == nil {
		return n
	}
	out, app := *n, *n.App
	app.Work, out.App = work, &app
	return &out
}

// onlyForwards is true for a node in which an engine of nines is all that knows the names of its interfaces.
func (n *Node) onlyForwards() bool {
	return n.App.Handling().HasEngine() && len(n.Services)+len(n.Exec)+len(n.Routes)+len(n.Sysctls) == 0 &&
		n.Healthcheck == nil && n.Scripts == nil && (n.RX == "" || n.RX == ReceiveInterrupt)
}
