// Package v1alpha1 has the objects by which what was measured in a cluster is known to it: group
// nines.dev, version v1alpha1. The agent of a node writes them, the scheduler reads them.
//
// The package is plain data. Durations are integers of nanoseconds, with Ns in their names.
//
// +k8s:deepcopy-gen=package
// +groupName=nines.dev
package v1alpha1

//go:generate ../../../hack/go tool deepcopy-gen --output-file deepcopy.go --go-header-file /dev/null .
