package isolate

import (
	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
)

// Controller is what a control group controls.
type Controller string

// The controllers that a node may need.
const (
	CPUSet  Controller = "cpuset"
	Memory  Controller = "memory"
	HugeTLB Controller = "hugetlb"
	PIDs    Controller = "pids"
)

// optional is true for a controller that a lab does without where the host lacks it.
func (c Controller) optional() bool { return c == HugeTLB || c == PIDs }

// Find returns the hierarchy that has a controller.
func Find(c Controller) (cgroup.Hierarchy, error) {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return cgroup.Hierarchy{}, err
	}
	for _, h := range hierarchies {
		if h.Has(string(c)) {
			return h, nil
		}
	}
	return cgroup.Hierarchy{}, &exit.MissingError{
		Capability: "cgroup " + string(c),
		Reason:     "no mounted control group hierarchy has the controller",
		Remedy:     "mount one (mount -t cgroup2 cgroup2 /sys/fs/cgroup), or --set isolation=none, and remove memory from the file",
	}
}
