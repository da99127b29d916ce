package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Controllers lists what a node's groups have to control: CPUs of its own, a limit on
// its memory or its hugepages. Other nodes need no groups; a thousand small ones would
// have a thousand for nothing. It is pure.
func Controllers(p *plan.Plan, n plan.Node) []Controller {
	var list []Controller
	if needsCPUSet(p, n) {
		list = append(list, CPUSet)
	}
	if byAffinity(n) {
		return list // the bare host has no limits, and a machine takes its memory at once
	}
	if n.MemoryBytes > 0 {
		list = append(list, Memory)
	}
	if n.HugepageBytes > 0 {
		list = append(list, HugeTLB)
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

// byAffinity is true for a node that is on its CPUs by affinity alone: the engine of the
// bare host, and the threads of a virtual machine that run the guest's CPUs.
func byAffinity(n plan.Node) bool { return n.Runtime.Descriptor().Groups == spec.Ungrouped }

// Parent is the group that a node's own is made in, relative to a hierarchy's root: the
// lab's, or, where the lab's CPUs are kept from all else and the node has none of them,
// the one beside it.
func Parent(p *plan.Plan, n plan.Node) string {
	if plan.Partitions(p.Isolation) && !n.Isolated {
		return shared(p.Prefix)
	}
	return p.Prefix
}

// MonitorParent is the group for what watches over a node and must not run on its CPUs.
func MonitorParent(p *plan.Plan) string {
	if plan.Partitions(p.Isolation) {
		return shared(p.Prefix)
	}
	return p.Prefix
}

// shared is the group beside the lab's for what is not isolated: nodes without CPUs of
// their own, containers' monitors, and, in version 1, all else on the host.
func shared(prefix string) string { return prefix + ".host" }

// Check finds out whether the host has the control groups that a plan needs.
func Check(p *plan.Plan) error {
	for _, n := range p.Nodes {
		for _, c := range Controllers(p, n) {
			if c == HugeTLB {
				continue // a limit that the file asks for is among plan.Needs
			}
			if _, err := Find(c); err != nil {
				return fmt.Errorf("node %q: %w", n.Name, err)
			}
		}
	}
	return checkPartition(p)
}

// GroupNames are the groups that a lab makes below the roots of hierarchies.
func GroupNames(p *plan.Plan) []string {
	if plan.Partitions(p.Isolation) {
		return []string{p.Prefix, shared(p.Prefix)}
	}
	return []string{p.Prefix}
}

// Claim journals the lab's own groups, <mount>/<prefix> and where it isolates the one
// beside it, in every hierarchy, and makes none of them: LXC and Confine do, where they
// need it.
func (l *Lab) Claim() error {
	names := GroupNames(l.Plan)
	for _, entry := range l.Journal.Entries() {
		if entry.Kind == KindCgroup && entry.Path == "" && slices.Contains(names, entry.Name) {
			return nil
		}
	}
	return Reserve(l.Journal, "", names...)
}

// parent makes the group that a node's own is made in, with a controller ready for use.
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
		// Goes with the directory, so it needs no undoing of its own.
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

// delegate lets the children of the v2 root have a controller, until the last lab goes
// that needed it to.
func (l *Lab) delegate(mount string, c Controller) error {
	_, _, err := setting.Make(l.Journal, journal.Step{
		Path: filepath.Join(mount, "cgroup.subtree_control"), Value: "+" + string(c), Target: l.ledger(),
	})
	return err
}

// ledger is where the lab's settings of the host are shared with others.
func (l *Lab) ledger() string {
	if l.Ledger != "" {
		return l.Ledger
	}
	return setting.HostLedger
}

func (l *Lab) directory(path, node string) error {
	step := journal.Step{Kind: KindCgroup, Path: path, Node: node}
	return l.Journal.Make(step, func() (journal.Learnt, error) {
		// The lab's group is ours, so what is in it is: another controller of the same
		// hierarchy was here first.
		err := mkdir(path)
		return journal.Learnt{Inode: journal.Inode(path)}, err
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
