package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/cluster/local/inside"
	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
)

// Of version 2 a node has one group, which it sees as the root. The kernel lets no group have
// processes and give controllers to groups below it ("No Internal Process Constraint" in
// Documentation/admin-guide/cgroup-v2.rst), so the node's own programs are in a group beside those
// of its pods:
//
//	/sys/fs/cgroup                                gives controllers (delegate)
//	/sys/fs/cgroup/nines-kube-NAME                gives controllers
//	/sys/fs/cgroup/nines-kube-NAME/n1             gives controllers, by inside.Start
//	/sys/fs/cgroup/nines-kube-NAME/n1/nines       the node's programs (inside.Leaf)
//	/sys/fs/cgroup/nines-kube-NAME/n1/kubepods    its pods, by the kubelet

// wanted are the controllers that a kubelet and runc use where the kernel has them.
var wanted = []string{"cpu", "cpuset", "io", "memory", "hugetlb", "pids"}

// controllersOf are those that nodes get of a hierarchy.
func controllersOf(h cgroup.Hierarchy) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(c string) bool { return !h.Has(c) })
}

// subtreeControl is a group's file with the controllers that it gives to groups below it.
const subtreeControl = "cgroup.subtree_control"

func stepsV2(mount string, controllers []string, cluster, node string, pid int) []groupStep {
	above := filepath.Join(mount, cluster)
	group := filepath.Join(above, node)
	leaf := filepath.Join(group, inside.Leaf)
	return []groupStep{
		{do: makeGroup, path: above},
		// They go with the group, so they need no undo.
		{do: writeFile, path: filepath.Join(above, subtreeControl), value: "+" + strings.Join(controllers, " +")},
		{do: makeGroup, path: group},
		{do: makeGroup, path: leaf},
		{do: writeFile, path: filepath.Join(leaf, "cgroup.procs"), value: strconv.Itoa(pid)},
	}
}

// delegate lets the root of version 2 give the nodes' controllers to the groups below it. systemd
// has it give most. One that it does not give is a setting of the host, shared with labs by the
// same ledger: the last of them to end takes it back, if nobody else uses it by then.
func (g Groups) delegate(j *journal.Journal) error {
	if g.version != 2 {
		return nil
	}
	root := g.hierarchies[0].Mount
	for _, c := range g.controllers {
		_, _, err := setting.Make(j, journal.Step{Path: filepath.Join(root, subtreeControl), Value: "+" + c, Target: setting.HostLedger})
		switch {
		case errors.Is(err, unix.EBUSY):
			return &exit.MissingError{
				Capability: "a control group of version 2 that can delegate controllers", Err: err,
				Reason: fmt.Sprintf("%s is not the whole host's root, as in a container, and has processes of its own", root),
				Remedy: fmt.Sprintf("first move them to a child group (mkdir %[1]s/init; for p in $(cat %[1]s/cgroup.procs); do echo $p >%[1]s/init/cgroup.procs; done), or run nines outside of the container", root),
			}
		case err != nil:
			return fmt.Errorf("give the nodes the controller %s: %w", c, err)
		}
	}
	return nil
}

// entrance opens the file by which a process joins a node's group, for inside.Start; nil with
// version 1, where it is in its groups from the start.
func (g Groups) entrance(cluster, node string) (*os.File, error) {
	if g.version != 2 {
		return nil, nil
	}
	return os.OpenFile(filepath.Join(g.hierarchies[0].Mount, cluster, node, "cgroup.procs"), os.O_WRONLY, 0)
}
