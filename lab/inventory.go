package lab

import (
	"slices"

	"nines.dev/nines/host"
)

// WithOwnCPUs returns an inventory that includes the CPUs which the named lab, if it is up,
// isolates. Planning excludes those CPUs, but a plan for that lab may use them.
func WithOwnCPUs(inv *host.Inventory, name string) *host.Inventory {
	lab, err := Open(name)
	if err != nil || len(lab.Plan().IsolatedCPUs) == 0 {
		return inv
	}
	own := lab.Plan().IsolatedCPUs
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
