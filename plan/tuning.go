package plan

import (
	"slices"

	"nines.dev/nines/spec"
)

// tuning is the experiment's profile of host settings, empty where it leaves them alone.
func (w *work) tuning() spec.Tuning {
	if w.exp.Tuning == spec.TuningNone {
		return ""
	}
	return w.exp.Tuning
}

// TunedCPUs are the CPUs of a plan that host tuning keeps quiet: nodes' own CPUs and those of
// engines, polling threads and links' programs, sorted.
func (p *Plan) TunedCPUs() []int {
	cpus := slices.Concat(p.IsolatedCPUs, p.QuietCPUs)
	for _, n := range p.Nodes {
		if n.CPUsExclusive {
			cpus = append(cpus, n.CPUs...)
		}
		if n.App != nil {
			cpus = append(cpus, n.App.CPU)
		}
		if n.Receive != nil && n.Receive.CPUsExclusive {
			cpus = append(cpus, n.Receive.CPUs...)
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
