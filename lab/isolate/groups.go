package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Controllers lists what a node's groups have to control: its own CPUs, a limit on its memory, its
// hugepages or a container's processes. Nodes without these get no groups, as a thousand small nodes would make a thousand
// useless groups. It is pure.
func Controllers(p *plan.Plan, n plan.Node) []Controller {
	var list []Controller
	if needsCPUSet(p, n) {
		list = append(list, CPUSet)
	}
	if byAffinity(n) {
		return list // the bare host has no limits, and a VM takes its memory at the start
	}
	if n.MemoryBytes > 0 {
		list = append(list, Memory)
	}
	if n.HugepageBytes > 0 {
		list = append(list, HugeTLB)
	}
	if n.Runtime.Descriptor().Groups == spec.GroupedByTools && !n.Privileged {
		list = append(list, PIDs)
	}
	return list
}

func needsCPUSet(p *plan.Plan, n plan.Node) bool {
	switch {
	case n.Isolated:
		return true
	case p.Isolation == spec.IsolationNone:
		return false
	case byAffinity(n):
		return false
	}
	return len(n.CPUs) > 0 && !slices.Equal(n.CPUs, p.HousekeepingCPUs)
}

// byAffinity is true for a node that only affinity keeps on its CPUs: the engine of the bare host,
// and the vCPU threads of a virtual machine.
func byAffinity(n plan.Node) bool { return n.Runtime.Descriptor().Groups == spec.Ungrouped }

// Parent is the parent of a node's group, relative to a hierarchy's root: the lab's group or, where
// the lab's CPUs are isolated and the node has none of them, the shared one beside it.
func Parent(p *plan.Plan, n plan.Node) string {
	if plan.Partitions(p.Isolation) && !n.Isolated {
		return shared(p.Prefix)
	}
	return p.Prefix
}

// MonitorParent is the group for containers' monitors, which must not run on the nodes' CPUs.
func MonitorParent(p *plan.Plan) string {
	if plan.Partitions(p.Isolation) {
		return shared(p.Prefix)
	}
	return p.Prefix
}

// shared is the group beside the lab's for what is not isolated: nodes without their own CPUs,
// containers' monitors, and, with cgroup v1, everything else on the host.
func shared(prefix string) string { return prefix + ".host" }

// Check checks that the host has the control groups that a plan needs.
func Check(p *plan.Plan) error {
	for _, n := range p.Nodes {
		for _, c := range Controllers(p, n) {
			h, err := Find(c)
			if err == nil && h.ReadOnly {
				err = readOnly(h, c)
			} else if c.optional() {
				err = nil // plan.Needs has the limits that the file asks for
			}
			if err != nil {
				return fmt.Errorf("node %q: %w", n.Name, err)
			}
		}
	}
	return checkPartition(p)
}

// readOnly is the error for a hierarchy in which nobody can make groups.
func readOnly(h cgroup.Hierarchy, c Controller) error {
	return &exit.MissingError{
		Capability: "writable control groups", Reason: fmt.Sprintf("%s is mounted read-only, and the controller %s is needed there", h.Mount, c),
		Remedy: fmt.Sprintf("mount -o remount,rw %s; a container needs --privileged; or --set isolation=none, and remove memory from the file, for nodes of the runtime netns", h.Mount),
	}
}

// GroupNames are the groups that a lab makes directly below the roots of hierarchies.
func GroupNames(p *plan.Plan) []string {
	if plan.Partitions(p.Isolation) {
		return []string{p.Prefix, shared(p.Prefix)}
	}
	return []string{p.Prefix}
}

// Claim journals the lab's own groups, <mount>/<prefix> and, with isolation, the one beside it, in
// every hierarchy. It makes none of them: LXC and Confine do, where they need them.
func (l *Lab) Claim() error {
	names := GroupNames(l.Plan)
	for _, entry := range l.Journal.Entries() {
		if entry.Kind == KindCgroup && entry.Path == "" && slices.Contains(names, entry.Name) {
			return nil
		}
	}
	return Reserve(l.Journal, "", names...)
}

// parent makes the parent of a node's group, with a controller ready for use.
func (l *Lab) parent(h cgroup.Hierarchy, c Controller, n plan.Node) (string, error) {
	dir := filepath.Join(h.Mount, Parent(l.Plan, n))
	if h.Version == 2 {
		if err := l.delegate(h.Mount, c); err != nil {
			return "", err
		}
	}
	return dir, ready(h, c, dir)
}

// ready makes a group whose children can have a controller.
func ready(h cgroup.Hierarchy, c Controller, dir string) error {
	if err := mkdir(dir); err != nil {
		return err
	}
	if h.Version == 2 {
		// It disappears with the directory, so it needs no undo.
		return write(filepath.Join(dir, "cgroup.subtree_control"), "+"+string(c))
	}
	if c != CPUSet {
		return nil
	}
	// A new v1 cpuset is empty, and its children can have no more than it has.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if text, err := readFile(filepath.Join(dir, file)); err == nil && text != "" {
			continue
		}
		if err := inherit(h.Mount, dir, file); err != nil {
			return err
		}
	}
	return nil
}

func mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	return nil
}

// delegate lets the children of the v2 root have a controller, until the last lab that needs it is
// removed.
func (l *Lab) delegate(mount string, c Controller) error {
	_, _, err := setting.Make(l.Journal, journal.Step{
		Path: filepath.Join(mount, "cgroup.subtree_control"), Value: "+" + string(c), Target: l.ledger(),
	})
	return err
}

// ledger is the file in which labs share their settings of the host.
func (l *Lab) ledger() string {
	if l.Ledger != "" {
		return l.Ledger
	}
	return setting.HostLedger
}

func (l *Lab) directory(path, node string) error {
	step := journal.Step{Kind: KindCgroup, Path: path, Node: node}
	return l.Journal.Make(step, func() (journal.Learnt, error) {
		// The lab's group is ours, so an existing group in it is too: another controller of the
		// same hierarchy made it.
		if err := mkdir(path); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learn(path)
	})
}

func inherit(from, to, file string) error {
	text, err := readFile(filepath.Join(from, file))
	if err != nil {
		return err
	}
	return write(filepath.Join(to, file), text)
}

func readFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

func write(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, path, err)
	}
	return nil
}
