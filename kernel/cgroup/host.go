package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// ErrOutside says that a process's group cannot be found: the caller sees groups from inside of one.
var ErrOutside = errors.New("its control group is not below those that the first process sees")

// FileOf is the path of a file of a process's group that has a controller, as the first process of the
// host or else the caller sees it. In a container with the host's process IDs it is found by the first
// process although the container's own mounts do not show it, which needs CAP_SYS_PTRACE.
func FileOf(pid int, controller, name string) (string, error) {
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", fmt.Errorf("read control groups of process %d: %w", pid, err)
	}
	for _, who := range []string{"1", "self"} {
		root := filepath.Join("/proc", who, "root")
		list, err := mountsOf(who)
		if err != nil {
			continue // it may not be looked at
		}
		dirs := dirsOf(string(groups), list)
		for _, h := range list {
			if h.Version == 2 {
				text, err := os.ReadFile(filepath.Join(root, h.Mount, "cgroup.controllers"))
				if err != nil {
					continue // another mount covers it
				}
				h.Controllers = strings.Fields(string(text))
			}
			if dir, found := dirs[h.Mount]; found && h.Has(controller) {
				path := filepath.Join(root, dir, name)
				if _, err := os.Stat(path); err == nil {
					return path, nil
				}
			}
		}
	}
	return "", fmt.Errorf("process %d, %s: %w", pid, controller, ErrOutside)
}

// mountsOf are the hierarchies that a process sees, without the controllers of version 2.
func mountsOf(process string) ([]Hierarchy, error) {
	file, err := os.Open(filepath.Join("/proc", process, "mountinfo"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := mountinfo.GetMountsFromReader(file, mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	return hierarchies(list), err
}
