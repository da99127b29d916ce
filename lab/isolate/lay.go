package isolate

import (
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
)

// Lay makes a node's groups with its limits, for a tool that then starts the node's first process in
// them, and makes itself those that are missing. With version 2 such a tool (CreateCgroupPath in
// libcontainer of runc) gives every controller of the host to the groups on the path; nines does so
// before, in its journal, so that the host gets back what it had.
func (l *Lab) Lay(n plan.Node) error {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	for _, h := range onlyVersion2(hierarchies) {
		text, err := readFile(filepath.Join(h.Mount, "cgroup.controllers"))
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(text) {
			if err := l.delegate(h.Mount, Controller(name)); err != nil {
				return err
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.lay(n)
	return err
}

// onlyVersion2 is the hierarchy of version 2 of a host that has no other with controllers: on
// others tools use version 1.
func onlyVersion2(hierarchies []cgroup.Hierarchy) []cgroup.Hierarchy {
	if slices.ContainsFunc(hierarchies, func(h cgroup.Hierarchy) bool { return h.Version == 1 }) {
		return nil
	}
	return hierarchies
}
