package isolate

import (
	"context"
	"strconv"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

var adviceQueue = tune.Advice{
	Name:   "irq-affinity-queue",
	What:   "the interrupts of a node's own device go to the node's CPUs other than the engine's, otherwise to a housekeeping CPU of the device's NUMA node",
	Cost:   "a node with one CPU receives its packets on another CPU",
	Source: "Documentation/core-api/irq/irq-affinity.rst; Documentation/networking/scaling.rst, RSS IRQ Configuration",
}

// Queues are the settings that move the interrupts of nodes' own devices on a link, where the
// kernel drives them, to CPUs near their nodes. The host's /proc and /sys are below root, and its
// inventory is inv. The devices must exist. It changes nothing.
func Queues(root string, p *plan.Plan, l plan.Link, inv *host.Inventory) []tune.Setting {
	if p.Isolation != spec.IsolationIsolated {
		return nil
	}
	c := collector{Away: Away{Root: root}}
	for _, e := range l.Endpoints {
		if e.Function.Address == "" || e.Function.Driver != "" {
			continue
		}
		n := p.Node(e.Node)
		if n == nil {
			continue
		}
		cpus := beside(p, *n, e.Function.NUMANode, inv)
		for _, number := range c.names(c.path("sys/bus/pci/devices", e.Function.Address, "msi_irqs")) {
			if _, err := strconv.Atoi(number); err != nil {
				continue
			}
			s := interrupt(c.path("proc/irq", number), cpus)
			s.Advice = adviceQueue
			c.list = append(c.list, s)
		}
	}
	return c.list
}

// beside are the CPUs for the interrupts of a node's device on a NUMA node.
func beside(p *plan.Plan, n plan.Node, numa int, inv *host.Inventory) tasks.Set {
	var engines tasks.Set
	if n.App != nil && n.App.CPU >= 0 {
		engines = append(engines, n.App.CPU)
	}
	if t := p.Traffic; t != nil && t.From.Node == n.Name {
		engines = append(engines, t.FromCPU)
	}
	if t := p.Traffic; t != nil && t.To.Node == n.Name {
		engines = append(engines, t.ToCPU)
	}
	if own := tasks.Set(n.CPUs).Minus(engines); len(own) > 0 {
		return own
	}
	var near tasks.Set
	for _, id := range p.HousekeepingCPUs {
		if cpu, err := inv.CPU(id); err == nil && cpu.NUMANode == numa {
			near = append(near, id)
		}
	}
	if len(near) > 0 {
		return near
	}
	return p.HousekeepingCPUs
}

// Steer applies Queues when the links are up. Each link's settings are steps of that link, and are
// undone when it is removed.
func (l *Lab) Steer(ctx context.Context) error {
	if l.Plan.Isolation != spec.IsolationIsolated {
		return nil
	}
	inv, err := host.Read()
	if err != nil {
		return err
	}
	for _, link := range l.Plan.Links {
		applier := tune.Applier{Journal: l.Journal, Link: link.Name, Ledger: l.ledger()}
		made, err := applier.Apply(ctx, Queues("/", l.Plan, link, inv))
		l.state.take(made)
		if err != nil {
			return err
		}
	}
	return nil
}
