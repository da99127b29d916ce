package plan

import (
	"fmt"
	"maps"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// makeWaiting plans an experiment whose engines are to poll where that takes nothing from others, and to sleep
// otherwise.
func makeWaiting(exp *spec.Experiment, inv *host.Inventory, running *Plan) (*Plan, error) {
	polls, err := decided(waiting(exp, spec.WaitSpin), inv, running)
	why := "this host has no place for engines that poll"
	if err == nil {
		if why = polls.mustSleep(); why == "" {
			polls.Notes = append(polls.Notes, "the engines poll (wait: auto is spin): each has a CPU of its own.")
			return polls, nil
		}
	}
	sleeps, err := decided(waiting(exp, spec.WaitBlock), inv, running)
	if err == nil {
		sleeps.Notes = append(sleeps.Notes, "the engines sleep (wait: auto is block), as "+why+": the latencies include the receiver's wake-up.")
	}
	return sleeps, err
}

// waitsByPlan is true if the file leaves to the plan how an engine waits.
func waitsByPlan(exp *spec.Experiment) bool {
	if exp.Traffic != nil && exp.Traffic.Wait == spec.WaitAuto {
		return true
	}
	if exp.Duet != nil && exp.Duet.Sides[1].Traffic.Wait == spec.WaitAuto {
		return true
	}
	for _, n := range exp.Topology.Nodes {
		if n != nil && n.App != nil && n.App.Wait == spec.WaitAuto {
			return true
		}
	}
	return false
}

// waiting is the experiment with one way to wait in place of auto.
func waiting(exp *spec.Experiment, wait spec.Wait) *spec.Experiment {
	out := *exp
	if exp.Traffic != nil && exp.Traffic.Wait == spec.WaitAuto {
		stream := *exp.Traffic
		stream.Wait = wait
		out.Traffic = &stream
	}
	if exp.Duet != nil {
		pair := *exp.Duet
		for i := range pair.Sides {
			if stream := &pair.Sides[i].Traffic; stream.Wait == spec.WaitAuto {
				stream.Wait = wait
			}
		}
		out.Duet = &pair
	}
	out.Topology.Nodes = maps.Clone(exp.Topology.Nodes)
	for name, n := range out.Topology.Nodes {
		if n != nil && n.App != nil && n.App.Wait == spec.WaitAuto {
			node, app := *n, *n.App
			app.Wait, node.App = wait, &app
			out.Topology.Nodes[name] = &node
		}
	}
	return &out
}

// mustSleep says why engines must not poll; empty: they may.
func (p *Plan) mustSleep() string {
	taken := map[int]bool{}
	for _, place := range p.engines() {
		n := p.Index().Node(place.node)
		switch {
		case n == nil || n.Remote():
			return "a pod's CPUs are the cluster's"
		case n.Guest():
			return "node " + n.Name + " is a virtual machine, which needs its CPU for itself"
		case n.Scheduling != nil && n.Scheduling.Policy.RealTime():
			return "node " + n.Name + " has a real-time policy, and the kernel throttles what never sleeps"
		case place.cpu < 0 || !n.CPUsExclusive || taken[place.cpu]:
			return "the engine of node " + n.Name + " has no CPU of its own"
		}
		for _, i := range n.Interfaces {
			if i.RX != spec.ReceiveInterrupt && i.RX != "" {
				return fmt.Sprintf("rx: %s of %s:%s polls in its place", i.RX, n.Name, i.Name)
			}
		}
		taken[place.cpu] = true
	}
	return ""
}

// enginePlace is where an engine runs.
type enginePlace struct {
	node string
	cpu  int
}

// engines are those of the traffic's ends and of the nodes' apps.
func (p *Plan) engines() []enginePlace {
	var list []enginePlace
	if t := p.Traffic; t != nil {
		list = append(list, enginePlace{t.From.Node, t.FromCPU})
		if t.Role == RolePair {
			list = append(list, enginePlace{t.To.Node, t.ToCPU})
		}
	}
	for _, n := range p.Nodes {
		if n.App.Handling().HasEngine() {
			list = append(list, enginePlace{n.Name, n.App.CPU})
		}
	}
	return list
}
