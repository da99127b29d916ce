package lab

import (
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/spec"
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

// WithUplinks returns an inventory that includes the interfaces of this host which experiments put their
// management networks on, as far as they are there.
func WithUplinks(inv *host.Inventory, experiments ...*spec.Experiment) (*host.Inventory, error) {
	given := *inv
	for _, e := range experiments {
		if e.Management == nil || e.Management.Uplink == "" || given.Uplink(e.Management.Uplink) != nil {
			continue
		}
		found, err := link.ReadUplink(e.Management.Uplink)
		if err != nil {
			return nil, err
		}
		if found != nil {
			given.Uplinks = append(slices.Clone(given.Uplinks), *found)
		}
	}
	return &given, nil
}
