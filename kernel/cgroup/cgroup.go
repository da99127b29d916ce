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
)

// Hierarchy is a mounted tree of control groups.
type Hierarchy struct {
	Mount string
	// Version is 1 or 2.
	Version int
	// Name is its name in /proc/PID/cgroup: its controllers ("cpu,cpuacct",
	// "name=systemd"), and empty for version 2.
	Name string
	// Controllers are the hierarchy's controllers.
	Controllers []string
}

// Has is true if the hierarchy has a controller.
func (h Hierarchy) Has(controller string) bool { return slices.Contains(h.Controllers, controller) }

// Mounted lists the hierarchies of this host.
func Mounted() ([]Hierarchy, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	list := Parse(string(text))
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

// Parse finds the hierarchies in the text of a mountinfo file, proc(5), which does not list
// the controllers of version 2.
func Parse(mountinfo string) []Hierarchy {
	var list []Hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		point, kind := strings.Fields(before), strings.Fields(after)
		if len(point) < 5 || len(kind) < 3 {
			continue
		}
		switch kind[0] {
		case "cgroup2":
			list = append(list, Hierarchy{Mount: point[4], Version: 2})
		case "cgroup":
			controllers := slices.DeleteFunc(strings.Split(kind[2], ","), isOption)
			list = append(list, Hierarchy{
				Mount: point[4], Version: 1, Name: strings.Join(controllers, ","), Controllers: controllers,
			})
		}
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
	dirs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		// "4:memory:/path", "0::/path"
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, h := range hierarchies {
			if h.Name == parts[1] {
				dirs[h.Mount] = filepath.Join(h.Mount, parts[2])
			}
		}
	}
	return dirs, nil
}
