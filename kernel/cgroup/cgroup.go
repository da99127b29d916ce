// Package cgroup reads which control group hierarchies are mounted, and a process's group
// in each: version 1, version 2 or both (hybrid). It changes nothing and needs no
// privileges. See cgroups(7).
package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Hierarchy is a mounted tree of control groups.
type Hierarchy struct {
	Mount string
	// Root is the group that the mount point shows; empty for the hierarchy's own root. In a container
	// that has no namespace of control groups it is the container's group.
	Root string
	// Version is 1 or 2.
	Version int
	// Name is its name in /proc/PID/cgroup: its controllers ("cpu,cpuacct",
	// "name=systemd"), and empty for version 2.
	Name string
	// Controllers are the hierarchy's controllers.
	Controllers []string
	// ReadOnly is true where the mount lets nobody make groups, as in most containers.
	ReadOnly bool
}

// Has is true if the hierarchy has a controller.
func (h Hierarchy) Has(controller string) bool { return slices.Contains(h.Controllers, controller) }

// Mounted lists the hierarchies of this host.
func Mounted() ([]Hierarchy, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	list := hierarchies(mounts)
	for i, h := range list {
		if h.Version == 2 {
			controllers, err := os.ReadFile(filepath.Join(h.Mount, "cgroup.controllers"))
			if err != nil {
				return nil, fmt.Errorf("read control groups: %w", err)
			}
			list[i].Controllers = strings.Fields(string(controllers))
		}
	}
	return list, nil
}

// hierarchies are those that are mounted. The mounts do not tell the controllers of version 2.
func hierarchies(mounts []*mountinfo.Info) []Hierarchy {
	var list []Hierarchy
	for _, m := range mounts {
		h := Hierarchy{Mount: m.Mountpoint, Root: strings.TrimSuffix(m.Root, "/"), Version: 2}
		h.ReadOnly = slices.Contains(strings.Split(m.Options, ","), "ro") || slices.Contains(strings.Split(m.VFSOptions, ","), "ro")
		if m.FSType == "cgroup" {
			h.Version = 1
			h.Controllers = slices.DeleteFunc(strings.Split(m.VFSOptions, ","), isOption)
			h.Name = strings.Join(h.Controllers, ",")
		}
		list = append(list, h)
	}
	return list
}

// isOption is true for mount options that are not controllers.
func isOption(word string) bool {
	return slices.Contains([]string{"rw", "ro", "xattr", "noprefix", "clone_children"}, word) ||
		strings.HasPrefix(word, "release_agent=")
}

// DirsOf maps each hierarchy's mount point to the directory of a process's group.
func DirsOf(pid int) (map[string]string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read control groups of process %d: %w", pid, err)
	}
	hierarchies, err := Mounted()
	if err != nil {
		return nil, err
	}
	return dirsOf(string(text), hierarchies), nil
}

// dirsOf finds the directories in the text of a process's cgroup file. A group that is not below
// what a mount point shows has none there.
func dirsOf(groups string, hierarchies []Hierarchy) map[string]string {
	dirs := map[string]string{}
	for line := range strings.Lines(groups) {
		// "4:memory:/path", "0::/path"
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, h := range hierarchies {
			below, shown := strings.CutPrefix(parts[2], h.Root)
			if h.Name == parts[1] && shown && (below == "" || below[0] == '/') {
				dirs[h.Mount] = filepath.Join(h.Mount, below)
			}
		}
	}
	return dirs
}
