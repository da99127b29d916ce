package lab

import (
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// isolates is true for a lab that has CPUs of the host for itself, or may have.
func isolates(name string) bool {
	lab, err := Open(name)
	return err == nil && plan.Partitions(lab.plan.Isolation)
}

// isolationOf is what of a plan's isolation cannot change while a lab runs.
func isolationOf(p *plan.Plan) any {
	return struct {
		Degree          spec.Isolation
		Isolated, Quiet []int
	}{p.Isolation, p.IsolatedCPUs, p.QuietCPUs}
}

// WithOwnCPUs gives an inventory the CPUs back that the lab of a name, if it is up, keeps
// from all others, also from who plans: a plan for that lab may have them.
func WithOwnCPUs(inv *host.Inventory, name string) *host.Inventory {
	lab, err := Open(name)
	if err != nil || len(lab.plan.IsolatedCPUs) == 0 {
		return inv
	}
	own := lab.plan.IsolatedCPUs
	given := *inv
	given.AllowedCPUs = slices.Concat(inv.AllowedCPUs, own)
	slices.Sort(given.AllowedCPUs)
	given.AllowedCPUs = slices.Compact(given.AllowedCPUs)
	given.CPUs = slices.Clone(inv.CPUs)
	for i, cpu := range given.CPUs {
		if slices.Contains(own, cpu.ID) {
			given.CPUs[i].Isolated = false // by the lab's partition, and not by the host
		}
	}
	return &given
}
