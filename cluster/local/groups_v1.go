package local

import (
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/kernel/cgroup"
)

// Of version 1 a node has a group in each hierarchy, which it sees as that hierarchy's root:
//
//	/sys/fs/cgroup/memory/nines-kube-NAME/n1            the node's programs
//	/sys/fs/cgroup/memory/nines-kube-NAME/n1/kubepods   its pods, by the kubelet

// stepsV1 are the steps in one hierarchy.
func stepsV1(h cgroup.Hierarchy, cluster, node string, pid int) []groupStep {
	above := filepath.Join(h.Mount, cluster)
	group := filepath.Join(above, node)
	var steps []groupStep
	for _, dir := range []string{above, group} {
		steps = append(steps, groupStep{do: makeGroup, path: dir})
		if h.Has("cpuset") {
			// A new group has none, and takes no process before it has, cpuset(7).
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				steps = append(steps, groupStep{do: inheritFile, path: filepath.Join(dir, file)})
			}
		}
	}
	return append(steps, groupStep{do: writeFile, path: filepath.Join(group, "cgroup.procs"), value: strconv.Itoa(pid)})
}

// shownV1 is how a node sees a hierarchy.
func shownV1(h cgroup.Hierarchy) inside.Hierarchy {
	if name, named := strings.CutPrefix(h.Name, "name="); named {
		return inside.Hierarchy{Folder: name, Options: "none,name=" + name}
	}
	return inside.Hierarchy{Folder: h.Name, Options: h.Name, Controllers: h.Controllers}
}
