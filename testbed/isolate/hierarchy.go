package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/testbed/host"
)

// Controller is what a control group controls.
type Controller string

// The controllers that a node may need.
const (
	CPUSet Controller = "cpuset"
	Memory Controller = "memory"
)

// Hierarchy is a mounted tree of control groups.
type Hierarchy struct {
	Mount string
	// Version is 1 or 2.
	Version int
	// Controllers it has; for version 1 also those nines does not use.
	Controllers []string
}

// Hierarchies reads what is mounted from the text of /proc/self/mountinfo. The
// controllers of version 2 are read from its root.
func Hierarchies(mountinfo string) []Hierarchy {
	var found []Hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		point, kind := strings.Fields(before), strings.Fields(after)
		if len(point) < 5 || len(kind) < 3 {
			continue
		}
		h := Hierarchy{Mount: point[4]}
		switch kind[0] {
		case "cgroup":
			h.Version = 1
			h.Controllers = strings.Split(kind[2], ",")
		case "cgroup2":
			h.Version = 2
			text, err := os.ReadFile(filepath.Join(h.Mount, "cgroup.controllers"))
			if err != nil {
				continue
			}
			h.Controllers = strings.Fields(string(text))
		default:
			continue
		}
		found = append(found, h)
	}
	return found
}

// Find is the hierarchy that has a controller.
func Find(c Controller) (Hierarchy, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Hierarchy{}, fmt.Errorf("read mounts: %w", err)
	}
	for _, h := range Hierarchies(string(text)) {
		if slices.Contains(h.Controllers, string(c)) {
			return h, nil
		}
	}
	return Hierarchy{}, &host.MissingError{
		Capability: "cgroup " + string(c),
		Reason:     "no mounted control group hierarchy has the controller",
		Remedy:     "mount one (mount -t cgroup2 cgroup2 /sys/fs/cgroup), or take cpus and memory out of the file",
	}
}
