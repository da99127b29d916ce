package host

import (
	"slices"
	"strings"

	"nines.dev/nines/kernel/files"
)

// readCgroup reads which hierarchies are mounted. A hierarchy that is mounted twice is
// listed once, at its last mount point, which hides the earlier one.
func readCgroup(t Tree) Cgroup {
	known := v1Controllers(files.Text(t, "/proc/cgroups"))
	self := files.Text(t, "/proc/self/cgroup")
	var mounts []CgroupMount
	has := map[int]bool{}
	for line := range strings.SplitSeq(files.Text(t, "/proc/mounts"), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		var m CgroupMount
		switch f[2] {
		case "cgroup2":
			m = CgroupMount{Path: f[1], Version: 2, Self: selfV2(self)}
			m.Controllers = strings.Fields(files.Text(t, f[1]+"/cgroup.controllers"))
		case "cgroup":
			m = CgroupMount{Path: f[1], Version: 1}
			for option := range strings.SplitSeq(f[3], ",") {
				if slices.Contains(known, option) || strings.HasPrefix(option, "name=") {
					m.Controllers = append(m.Controllers, option)
				}
			}
			m.Self = selfV1(self, m.Controllers)
		default:
			continue
		}
		if m.Controllers == nil {
			m.Controllers = []string{}
		}
		has[m.Version] = true
		mounts = slices.DeleteFunc(mounts, func(o CgroupMount) bool { return o.Path == m.Path })
		mounts = append(mounts, m)
	}
	mode := CgroupNone
	switch {
	case has[1] && has[2]:
		mode = CgroupHybrid
	case has[1]:
		mode = CgroupV1
	case has[2]:
		mode = CgroupV2
	}
	return Cgroup{Mode: mode, Mounts: mounts}
}

// v1Controllers returns the names in /proc/cgroups.
func v1Controllers(content string) []string {
	var names []string
	for line := range strings.SplitSeq(content, "\n") {
		if f := strings.Fields(line); len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			names = append(names, f[0])
		}
	}
	return names
}

// selfV2 finds "0::/path" in /proc/self/cgroup.
func selfV2(self string) string {
	for line := range strings.SplitSeq(self, "\n") {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return path
		}
	}
	return ""
}

// selfV1 finds "4:cpu,cpuacct:/path" in /proc/self/cgroup.
func selfV1(self string, controllers []string) string {
	for line := range strings.SplitSeq(self, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 || f[1] == "" {
			continue
		}
		for name := range strings.SplitSeq(f[1], ",") {
			if slices.Contains(controllers, name) {
				return f[2]
			}
		}
	}
	return ""
}
