package plan

import (
	"maps"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// makeWaiting plans an experiment whose engines are to poll where each has a CPU of its own, and to sleep otherwise.
func makeWaiting(exp *spec.Experiment, inv *host.Inventory) (*Plan, error) {
	p, err := decided(waiting(exp, spec.WaitSpin), inv)
	if err == nil && p.enginesAlone() {
		p.Notes = append(p.Notes, "wait: auto is spin: each engine has a CPU of its own.")
		return p, nil
	}
	if p, err = decided(waiting(exp, spec.WaitBlock), inv); err == nil {
		p.Notes = append(p.Notes, "wait: auto is block: there is no CPU for each engine alone, so the latencies include the receiver's wake-up.")
	}
	return p, err
}

// waitsByPlan is true if the file leaves to the plan how an engine waits.
func waitsByPlan(exp *spec.Experiment) bool {
	if exp.Traffic != nil && exp.Traffic.Wait == spec.WaitAuto {
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

// enginesAlone is true if each engine has a CPU that neither housekeeping nor another node or engine has.
func (p *Plan) enginesAlone() bool {
	taken := map[int]bool{}
	alone := func(node string, cpu int) bool {
		n := p.Index().Node(node)
		if cpu < 0 || n == nil || !n.CPUsExclusive || taken[cpu] {
			return false
		}
		taken[cpu] = true
		return true
	}
	if t := p.Traffic; t != nil {
		if !alone(t.From.Node, t.FromCPU) || t.Role == RolePair && !alone(t.To.Node, t.ToCPU) {
			return false
		}
	}
	for _, n := range p.Nodes {
		if n.App.Handling().HasEngine() && !alone(n.Name, n.App.CPU) {
			return false
		}
	}
	return true
}
