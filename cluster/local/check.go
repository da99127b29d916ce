package local

import (
	"os"

	"nines.dev/nines/exit"
)

// Check checks that this host can have a cluster, and finds what one is made of. Its error is a
// *exit.MissingError that names what is missing.
func Check() (Programs, Groups, error) {
	if os.Geteuid() != 0 {
		return Programs{}, Groups{}, &exit.MissingError{
			Capability: "root", Reason: "a cluster's nodes are namespaces, control groups and mounts", Remedy: "run it with sudo",
		}
	}
	programs, err := FindPrograms()
	if err != nil {
		return programs, Groups{}, err
	}
	groups, err := findGroups()
	return programs, groups, err
}
