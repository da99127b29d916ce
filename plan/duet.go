package plan

import (
	"fmt"
	"maps"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// Duet is two variants of a network in one lab, whose streams one sender sends by one schedule.
type Duet struct {
	Sides [2]DuetSide `json:"sides"`
	// Other is the stream of side b; that of side a is the plan's Traffic.
	Other *Traffic `json:"other"`
	// For, Least and Ask are as in the file.
	For   spec.Duration `json:"for"`
	Least *spec.Least   `json:"least"`
	Ask   []string      `json:"ask"`
	// Forwarding says how nines' own forwarders of both sides share CPUs; empty where there are none.
	Forwarding Forwarding `json:"forwarding,omitempty"`
	// Differs says what differs between the sides besides what the file sets.
	Differs []string `json:"differs,omitempty"`
}

// DuetSide is what one side is.
type DuetSide struct {
	Name string `json:"name"`
	// Settings is what the file sets, in words.
	Settings string `json:"settings"`
	// Nodes and Links are what the side has for itself.
	Nodes []string `json:"nodes"`
	Links []string `json:"links"`
}

// Forwarding is how the engines of a duet's two sides run.
type Forwarding string

// The forms of forwarding. Two threads that shared a CPU would each see the other's time slices if they polled.
const (
	ForwardingOne    Forwarding = "one"    // one thread forwards for both sides
	ForwardingApart  Forwarding = "apart"  // each on a CPU of its own
	ForwardingAsleep Forwarding = "asleep" // without one, and so they sleep until packets come
)

// Streams are the measured streams: of both sides in a duet, else one, or none.
func (p *Plan) Streams() []*Traffic {
	switch {
	case p.Traffic == nil:
		return nil
	case p.Duet == nil:
		return []*Traffic{p.Traffic}
	}
	return []*Traffic{p.Traffic, p.Duet.Other}
}

// Endpoints are those that the packets of all streams meet, in the order of their paths.
func (p *Plan) Endpoints() []string {
	var list []string
	for _, t := range p.Streams() {
		list = append(list, t.Path...)
	}
	return list
}

// StreamOf is the stream that a node is for: in a duet that of its side, or of side a where it is there once; nil without
// traffic.
func (p *Plan) StreamOf(nodeName string) *Traffic {
	if _, side := spec.SideOf(nodeName); side == spec.SideB && p.Duet != nil {
		return p.Duet.Other
	}
	return p.Traffic
}

// duetResult says what stands side by side; nil without a duet.
func (w *work) duetResult() *Duet {
	pair := w.exp.Duet
	if pair == nil {
		return nil
	}
	d := &Duet{Other: w.trafficResult(w.courses[1]), For: pair.For, Least: pair.Least, Ask: pair.Ask, Forwarding: w.forwarding()}
	for i, s := range pair.Sides {
		d.Sides[i] = DuetSide{Name: s.Name, Settings: s.SettingsText(), Nodes: []string{}, Links: []string{}}
		for _, n := range w.nodes {
			if _, side := spec.SideOf(n.name); side == s.Name {
				d.Sides[i].Nodes = append(d.Sides[i].Nodes, n.name)
			}
		}
		for _, l := range w.links {
			if _, side := spec.SideOf(l.name); side == s.Name {
				d.Sides[i].Links = append(d.Sides[i].Links, l.name)
			}
		}
	}
	d.Differs = w.differs()
	return d
}

// twin is the same node, or link's program, on the other side of a duet; nil for what is there once.
func (w *work) twin(n *node) *node {
	plain, side := spec.SideOf(n.sided())
	if side == "" {
		return nil
	}
	other := spec.OnSide(plain, otherSide(side))
	if n.link == nil {
		return w.byName[other]
	}
	i := slices.IndexFunc(w.links, func(l *link) bool { return l.name == other })
	if i < 0 {
		return nil
	}
	return w.links[i].program
}

func otherSide(side string) string {
	if side == spec.SideA {
		return spec.SideB
	}
	return spec.SideA
}

// evenDemands gives a node of one side as many CPUs as the other side's has, so that neither wins by them. An engine of
// nines need not have the CPU that the file asks for: where there are too few, it sleeps.
func (w *work) evenDemands() {
	for _, n := range w.nodes {
		twin := w.twin(n)
		if twin == nil {
			continue
		}
		if twin.demand.count > n.demand.count {
			n.demand.count = twin.demand.count
			n.because("it has as many CPUs as %s", twin.name)
		}
		if n.demand.engine && len(n.demand.list) == 0 && n.demand.count == 1 {
			n.demand.explicit = false
			twin.demand.explicit = twin.demand.explicit && len(twin.demand.list) > 0
		}
	}
}

// sided is the name by which a node, or a link's program, has its side.
func (n *node) sided() string {
	if n.link != nil {
		return n.link.name
	}
	return n.name
}

// sidesOn is how many sides of a duet lead their packets through a node.
func (w *work) sidesOn(n *node) int {
	sides := 0
	for _, c := range w.courses {
		sides += boolToInt(slices.ContainsFunc(c.path, func(e *endpoint) bool { return e.node == n }))
	}
	return max(sides, 1)
}

// forwarding is how the engines of both sides run; empty where no side has one.
func (w *work) forwarding() Forwarding {
	form := Forwarding("")
	for _, n := range w.nodes {
		if w.sidesOn(n) > 1 && n.app().HasEngine() && form == "" {
			form = ForwardingOne
		}
		if w.twin(n) == nil || !n.app().HasEngine() {
			continue
		}
		if !n.exclusive {
			return ForwardingAsleep
		}
		form = ForwardingApart
	}
	return form
}

// makeDuet plans a duet. Engines of both sides that share a CPU sleep until packets come, even where the file has them poll.
func makeDuet(exp *spec.Experiment, inv *host.Inventory, running *Plan) (*Plan, error) {
	p, err := decided(exp, inv, running)
	if err != nil || p.Duet.Forwarding != ForwardingAsleep {
		return p, err
	}
	asleep := *exp
	asleep.Topology.Nodes = maps.Clone(exp.Topology.Nodes)
	changed := false
	for name, n := range asleep.Topology.Nodes {
		plain, side := spec.SideOf(name)
		if side == "" || !n.App.Handling().HasEngine() || n.App.Wait != spec.WaitSpin {
			continue
		}
		if twin := exp.Topology.Nodes[spec.OnSide(plain, otherSide(side))].App; twin.Handling().HasEngine() && twin.Wait != spec.WaitSpin {
			return nil, at(&Impossible{fmt.Sprintf("node %s polls, and on the other side it waits by %s", name, twin.Wait),
				"there is no CPU for the engine of each side, and one that polls would take the other's time", "give both the same wait, or use a host with more CPUs"},
				[]string{"topology", "nodes", name, "app", "wait"})
		}
		if err := p.sleepless(exp, name); err != nil {
			return nil, err
		}
		node, app := *n, *n.App
		app.Wait, node.App = spec.WaitBlock, &app
		asleep.Topology.Nodes[name], changed = &node, true
	}
	if !changed {
		return p, nil
	}
	if p, err = decided(&asleep, inv, running); err == nil {
		p.Notes = append(p.Notes, "There is no CPU for each forwarder of the sides, so they sleep until packets come (wait: block): the latencies include a wake-up.")
	}
	return p, err
}

// sleepless refuses to let the engine of a node sleep where nothing would wake it.
func (p *Plan) sleepless(exp *spec.Experiment, nodeName string) error {
	for _, port := range p.Node(nodeName).App.Ports {
		endpoint := endName(nodeName, port.Interface)
		i := slices.IndexFunc(exp.Topology.Links, func(l *spec.Link) bool { return slices.Contains(l.Endpoints, endpoint) })
		if p.Node(nodeName).App.Backend != spec.BackendDPDK || i < 0 || exp.WakesDPDK(exp.Topology.Links[i], endpoint) {
			continue
		}
		return at(&Impossible{
			fmt.Sprintf("node %s polls %s, as nothing wakes a sleeping engine with the backend dpdk on a %s link", nodeName, endpoint, exp.Topology.Links[i].Kind),
			"there is no CPU for the engine of each side, and one that polls would take the other's time",
			"use a host with more CPUs, kind: veth with backend: raw, or a sweep in place of the duet",
		}, []string{"topology", "nodes", nodeName, "app"})
	}
	return nil
}
