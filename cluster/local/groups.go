package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/lab/isolate"
)

// needed are the controllers that a kubelet and runc do not work without.
var needed = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids"}

// hierarchies are the host's control group hierarchies that nodes get a group in: those of version
// 1, with controllers or, as systemd's, a name.
func hierarchies() ([]cgroup.Hierarchy, error) {
	mounted, err := cgroup.Mounted()
	if err != nil {
		return nil, err
	}
	mounted = slices.DeleteFunc(mounted, func(h cgroup.Hierarchy) bool { return h.Version != 1 })
	for _, c := range needed {
		if !slices.ContainsFunc(mounted, func(h cgroup.Hierarchy) bool { return h.Has(c) }) {
			return nil, &exit.MissingError{
				Capability: "cgroup v1 " + c,
				Reason:     "the nodes of a local cluster need control groups of version 1, and this host mounts none with that controller",
				Remedy:     "boot with systemd.unified_cgroup_hierarchy=0 SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1, or use another machine",
			}
		}
	}
	return mounted, nil
}

// shown is how a node sees a hierarchy.
func shown(h cgroup.Hierarchy) inside.Hierarchy {
	if name, named := strings.CutPrefix(h.Name, "name="); named {
		return inside.Hierarchy{Folder: name, Options: "none,name=" + name}
	}
	return inside.Hierarchy{Folder: h.Name, Options: h.Name, Controllers: h.Controllers}
}

// reserveGroups writes into the journal that the cluster has control groups.
func (l Layout) reserveGroups(j *journal.Journal) error {
	path, err := isolate.Taken(l.Group())
	if err != nil {
		return err
	}
	if path != "" {
		return exit.Wrongf("%s already exists, from a cluster in another state folder; take that down (NINES_STATE_DIR=… nines cluster down), or give this one another name (--name)", path)
	}
	return isolate.Reserve(j, "", l.Group())
}

// confine makes a node's control groups and puts its first process into them.
func (l Layout) confine(n Node, pid int, in []cgroup.Hierarchy) error {
	for _, h := range in {
		group := filepath.Join(h.Mount, l.Group(), n.Name)
		for _, dir := range []string{filepath.Dir(group), group} {
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make the control group of node %s: %w", n.Name, err)
			}
			if h.Has("cpuset") {
				if err := inheritCPUs(dir); err != nil {
					return fmt.Errorf("give %s the host's CPUs: %w", dir, err)
				}
			}
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("put node %s into %s: %w", n.Name, group, err)
		}
	}
	return nil
}

// inheritCPUs gives a group the CPUs and memory of the one above: a new group has none, and takes
// no process before it has, cpuset(7).
func inheritCPUs(dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
