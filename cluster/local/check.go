package local

import (
	"os"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cgroup"
)

// Check checks that this host can have a cluster, and finds what one is made of. Its error is a
// *host.MissingError that names what is missing.
func Check() (Programs, []cgroup.Hierarchy, error) {
	if os.Geteuid() != 0 {
		return Programs{}, nil, &host.MissingError{
			Capability: "root", Reason: "a cluster's nodes are namespaces, control groups and mounts", Remedy: "run it with sudo",
		}
	}
	programs, err := FindPrograms()
	if err != nil {
		return programs, nil, err
	}
	groups, err := hierarchies()
	return programs, groups, err
}
