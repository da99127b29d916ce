package local

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/lab/isolate"
)

// Groups are the host's control group hierarchies that nodes get a group in: all those of version
// 1, or the one of version 2. groups_v1.go and groups_v2.go say how nodes get them.
type Groups struct {
	version int
	// hierarchies are those of version 1, with controllers or, as systemd's, a name; or the one of
	// version 2.
	hierarchies []cgroup.Hierarchy
	// controllers are those that nodes get, of version 2.
	controllers []string
}

// needed are the controllers that a kubelet and runc do not work without, by version. Of version 2
// the kernel itself has what version 1 has cpuacct, devices and freezer for.
var needed = map[int][]string{
	1: {"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids"},
	2: {"cpu", "cpuset", "memory", "pids"},
}

// findGroups finds the host's.
func findGroups() (Groups, error) {
	mounted, err := cgroup.Mounted()
	if err != nil {
		return Groups{}, err
	}
	return chooseGroups(mounted)
}

// chooseGroups chooses the version that has what nodes need. Where both are mounted (hybrid), that
// is the one with the controllers: a controller is in one hierarchy only. It is pure.
func chooseGroups(mounted []cgroup.Hierarchy) (Groups, error) {
	of := map[int][]cgroup.Hierarchy{}
	for _, h := range mounted {
		of[h.Version] = append(of[h.Version], h)
	}
	if len(lacking(1, of[1])) == 0 {
		return Groups{version: 1, hierarchies: of[1]}, nil
	}
	for _, h := range of[2] {
		// The same may be mounted more than once.
		if one := []cgroup.Hierarchy{h}; len(lacking(2, one)) == 0 {
			return Groups{version: 2, hierarchies: one, controllers: controllersOf(h)}, nil
		}
	}
	return Groups{}, &exit.MissingError{
		Capability: "control groups for the nodes of a cluster",
		Reason: fmt.Sprintf("they need version 2, which lacks %s on this host, or version 1, which lacks %s",
			strings.Join(lacking(2, of[2]), ", "), strings.Join(lacking(1, of[1]), ", ")),
		Remedy: "mount version 2 (mount -t cgroup2 cgroup2 /sys/fs/cgroup), with all controllers in it: boot without cgroup_disable=, cgroup_no_v1= and systemd.unified_cgroup_hierarchy=0",
	}
}

// lacking are the controllers that a version needs and no hierarchy of a list has.
func lacking(version int, list []cgroup.Hierarchy) []string {
	return slices.DeleteFunc(slices.Clone(needed[version]), func(c string) bool {
		return slices.ContainsFunc(list, func(h cgroup.Hierarchy) bool { return h.Has(c) })
	})
}

// shown is how a node sees the groups.
func (g Groups) shown() inside.Groups {
	if g.version == 2 {
		return inside.Groups{Controllers: g.controllers}
	}
	var list []inside.Hierarchy
	for _, h := range g.hierarchies {
		list = append(list, shownV1(h))
	}
	return inside.Groups{Hierarchies: list}
}

// steps give a node its groups below the cluster's, and put its first process into them.
func (g Groups) steps(cluster, node string, pid int) []groupStep {
	if g.version == 2 {
		return stepsV2(g.hierarchies[0].Mount, g.controllers, cluster, node, pid)
	}
	var steps []groupStep
	for _, h := range g.hierarchies {
		steps = append(steps, stepsV1(h, cluster, node, pid)...)
	}
	return steps
}

// reserveGroups writes into the journal that the cluster has control groups, and what of the host
// is changed for them.
func (l Layout) reserveGroups(j *journal.Journal, g Groups) error {
	path, err := isolate.Taken(l.Group())
	if err != nil {
		return err
	}
	if path != "" {
		return exit.Wrongf("%s already exists, and belongs to a cluster in another state folder; take that down (NINES_STATE_DIR=… nines cluster down), or give this one another name (--name)", path)
	}
	// First, as it is undone last: the kernel takes no controller away that a group gives on.
	if err := g.delegate(j); err != nil {
		return err
	}
	return isolate.Reserve(j, "", l.Group())
}

// confine makes a node's control groups and puts its first process into them.
func (l Layout) confine(n Node, pid int, g Groups) error {
	for _, step := range g.steps(l.Group(), n.Name, pid) {
		if err := step.take(); err != nil {
			return fmt.Errorf("give node %s its control groups: %w", n.Name, err)
		}
	}
	return nil
}
