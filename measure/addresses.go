package measure

import (
	"fmt"
	"maps"
	"slices"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// asFound is a run's plan with the addresses that the interfaces have now: the experiment's own commands and scripts
// may have changed them. The notes of a trial say which.
func (b *bench) asFound(r run) (p *plan.Plan, notes []string, err error) {
	found, err := b.lab.Readdressed()
	if err != nil || len(found) == 0 {
		return r.plan, nil, err
	}
	for _, one := range found {
		notes = append(notes, one.String())
	}
	p, err = plan.Make(readdressed(r.spec, r.plan, found), b.inventory)
	if err != nil {
		return r.plan, append(notes, fmt.Sprintf("the traffic keeps the planned addresses: %v", err)), nil
	}
	for i, n := range p.Nodes {
		if n.App.Handling().HasEngine() && !plan.Same(n.App.Ports, r.plan.Nodes[i].App.Ports) {
			notes = append(notes, fmt.Sprintf("the engine of node %s still sends by the planned addresses", n.Name))
		}
	}
	return p, notes, b.lab.Meet(p)
}

// readdressed is an experiment whose file lists the addresses of every interface: those of its plan, and those that
// were found.
func readdressed(exp *spec.Experiment, p *plan.Plan, found []check.Readdressed) *spec.Experiment {
	out := *exp
	out.Topology.Nodes = maps.Clone(exp.Topology.Nodes)
	for _, n := range p.Nodes {
		node := spec.Node{}
		if listed := exp.Topology.Nodes[n.Name]; listed != nil {
			node = *listed
		}
		node.MAC, node.Addresses = map[string]string{}, map[string][]string{}
		for _, i := range n.Interfaces {
			if i.MAC == "" || i.Link == spec.ManagementLink {
				continue // the cluster gives its addresses, or the management network
			}
			mac, addresses := i.MAC, i.Addresses
			at := slices.IndexFunc(found, func(f check.Readdressed) bool { return f.Node == n.Name && f.Planned.Name == i.Name })
			if at >= 0 {
				mac = found[at].MAC
				if len(found[at].Addresses) > 0 {
					addresses = found[at].Addresses
				}
			}
			node.MAC[i.Name], node.Addresses[i.Name] = mac, addresses
		}
		out.Topology.Nodes[n.Name] = &node
	}
	return &out
}
