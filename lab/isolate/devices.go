package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
)

// deviceHierarchy is the hierarchy that controls devices: v1, or else v2 by a BPF program. ok is
// false on a host that has neither, where nodes may open every device that root may.
func deviceHierarchy() (h cgroup.Hierarchy, ok bool, err error) {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return h, false, err
	}
	for _, candidate := range hierarchies {
		if candidate.Version == 1 && candidate.Has("devices") {
			return candidate, true, nil
		}
		if candidate.Version == 2 {
			h, ok = candidate, true
		}
	}
	return h, ok, nil
}

// Restrict lets a netns node open only the usual devices and those of its plan: its first process
// joins a group that all nodes of the lab share, or its own group if it has its own devices. LXC
// does the same for its containers.
func (l *Lab) Restrict(n plan.Node, pid int) error {
	h, ok, err := deviceHierarchy()
	if err != nil || !ok {
		return err
	}
	var mounted []string
	for _, m := range n.Mounts {
		mounted = append(mounted, m.Source)
	}
	rules, err := cgroup.DeviceRules(n.Devices, mounted)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	dir, err := l.deviceGroup(h, n, len(n.Devices)+len(n.Mounts) > 0, rules)
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) {
		return nil // nines may not make control groups here, as inside some containers
	}
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
}

// deviceGroup is the group of a node's device rules; it is made if it does not exist.
func (l *Lab) deviceGroup(h cgroup.Hierarchy, n plan.Node, own bool, rules []cgroup.DeviceRule) (string, error) {
	parent := filepath.Join(h.Mount, Parent(l.Plan, n))
	name := n.HostName
	if !own && (h.Version == 1 || len(Controllers(l.Plan, n)) == 0) {
		name = l.Plan.Prefix + ".nodes"
	}
	dir := filepath.Join(parent, name)
	there, err := journal.Inode(dir)
	if err != nil {
		return "", err
	}
	if l.restricted[dir] || l.isRestricted(dir, there) {
		return dir, nil
	}
	if err := mkdir(parent); err != nil {
		return "", err
	}
	owner := n.Name
	if name != n.HostName {
		owner = "" // it stays when the node is removed
	}
	step := journal.Step{Kind: KindCgroup, Path: dir, Node: owner}
	err = l.Journal.Make(step, func() (journal.Learnt, error) {
		if err := mkdir(dir); err != nil {
			return journal.Learnt{}, err
		}
		if err := allowDevices(h, dir, rules); err != nil {
			return journal.Learnt{}, fmt.Errorf("control devices: %w", err)
		}
		return journal.Learn(dir)
	})
	if err != nil {
		return "", err
	}
	if l.restricted == nil {
		l.restricted = map[string]bool{}
	}
	l.restricted[dir] = true
	return dir, nil
}

// isRestricted is true for a shared group, of which there is the inode, that an earlier change of the
// lab made together with its rules. If the rules failed, or nines was killed before, the journal does
// not have the step as done, and the group gets its rules again.
func (l *Lab) isRestricted(dir string, there uint64) bool {
	return slices.ContainsFunc(l.Journal.Entries(), func(e journal.Entry) bool {
		return e.Kind == KindCgroup && e.Path == dir && e.Node == "" && e.Learnt != nil && e.Learnt.Inode == there
	})
}

func allowDevices(h cgroup.Hierarchy, dir string, rules []cgroup.DeviceRule) error {
	if h.Version == 2 {
		return attachDeviceProgram(dir, rules)
	}
	if err := write(filepath.Join(dir, "devices.deny"), "a"); err != nil {
		return err
	}
	for _, r := range rules {
		if err := write(filepath.Join(dir, "devices.allow"), r.String()); err != nil {
			return err
		}
	}
	return nil
}
