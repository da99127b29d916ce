package testbed

import (
	"slices"

	"nines.dev/nines/testbed/plan"
)

// TunedCPUs are the CPUs of a plan that the host is to leave alone: those that nodes have
// for themselves, those of engines, and those of links' programs. They are sorted.
func TunedCPUs(p *plan.Plan) []int {
	cpus := slices.Concat(p.IsolatedCPUs, p.QuietCPUs)
	for _, n := range p.Nodes {
		if n.CPUsExclusive {
			cpus = append(cpus, n.CPUs...)
		}
		if n.App != nil {
			cpus = append(cpus, n.App.CPU)
		}
	}
	if t := p.Traffic; t != nil {
		cpus = append(cpus, t.FromCPU, t.ToCPU)
	}
	for _, l := range p.Links {
		if l.Switch != nil {
			cpus = append(cpus, l.Switch.CPUs...)
		}
	}
	cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return cpu < 0 })
	slices.Sort(cpus)
	return slices.Compact(cpus)
}
