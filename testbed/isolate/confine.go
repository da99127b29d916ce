package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"nines.dev/nines/spec"
	"nines.dev/nines/testbed/cgroup"
	"nines.dev/nines/testbed/host"
	"nines.dev/nines/testbed/journal"
	"nines.dev/nines/testbed/plan"
)

// Controllers lists what a node's groups have to control: CPUs of its own, a limit
// on its memory. Other nodes need no groups; a thousand small ones would have a
// thousand for nothing.
func Controllers(n plan.Node, housekeeping []int) []Controller {
	var list []Controller
	if n.Runtime == spec.RuntimeHost {
		return nil // the bare host: its engine is on the node's CPUs by its affinity alone
	}
	if len(n.CPUs) > 0 && !slices.Equal(n.CPUs, housekeeping) {
		list = append(list, CPUSet)
	}
	if n.MemoryBytes > 0 {
		list = append(list, Memory)
	}
	return list
}

// Check finds out whether the host has the control groups that a plan needs.
func Check(p *plan.Plan) error {
	for _, n := range p.Nodes {
		for _, c := range Controllers(n, p.HousekeepingCPUs) {
			if _, err := Find(c); err != nil {
				return fmt.Errorf("node %q: %w", n.Name, err)
			}
		}
	}
	return nil
}

// Lab makes the groups of one lab. It may be used by several goroutines.
type Lab struct {
	Journal *journal.Journal
	Prefix  string
	// Housekeeping are the CPUs that nodes without their own share.
	Housekeeping []int

	mu sync.Mutex
	// restricted are the groups whose device rules are made.
	restricted map[string]bool
}

// Claim journals the lab's own group, <mount>/<prefix>, in every hierarchy, and
// makes none of them: LXC and Confine do, where they need it.
func (l *Lab) Claim() error {
	for _, entry := range l.Journal.Entries() {
		if entry.Kind == journal.KindCgroup && entry.Name == l.Prefix {
			return nil
		}
	}
	path, err := Taken(l.Prefix)
	if err != nil {
		return err
	}
	if path != "" {
		return fmt.Errorf("control group %s is there already, and not ours; set another prefix in the file", path)
	}
	_, err = l.Journal.Begin(journal.Step{Kind: journal.KindCgroup, Name: l.Prefix})
	return err
}

// Taken is the control group of a prefix that is there already, in any hierarchy;
// empty if there is none.
func Taken(prefix string) (string, error) {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return "", err
	}
	for _, h := range hierarchies {
		if path := filepath.Join(h.Mount, prefix); journal.Inode(path) != 0 {
			return path, nil
		}
	}
	return "", nil
}

// Confine makes a node's groups and moves its first process into them.
func (l *Lab) Confine(n plan.Node, pid int, controllers []Controller) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	dirs := map[string]bool{}
	for _, c := range controllers {
		h, err := Find(c)
		if err != nil {
			return err
		}
		dir, err := l.group(h, c, n)
		if err != nil {
			return err
		}
		if err := l.limit(h, c, dir, n); err != nil {
			return err
		}
		dirs[dir] = true
	}
	for dir := range dirs {
		if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// group makes <mount>/<prefix>/<host name>, with a controller ready for use in it.
func (l *Lab) group(h cgroup.Hierarchy, c Controller, n plan.Node) (string, error) {
	parent := filepath.Join(h.Mount, l.Prefix)
	if h.Version == 2 {
		if err := l.delegate(h.Mount, c); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make control group: %w", err)
	}
	if h.Version == 2 {
		// Goes with the directory, so it needs no undoing of its own.
		if err := write(filepath.Join(parent, "cgroup.subtree_control"), "+"+string(c)); err != nil {
			return "", err
		}
	} else if c == CPUSet {
		// A new v1 cpuset is empty, and its children can have no more than it has.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(h.Mount, parent, file); err != nil {
				return "", err
			}
		}
	}
	dir := filepath.Join(parent, n.HostName)
	return dir, l.directory(dir, n.Name)
}

// delegate lets the children of the v2 root have a controller.
func (l *Lab) delegate(mount string, c Controller) error {
	path := filepath.Join(mount, "cgroup.subtree_control")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if slices.Contains(strings.Fields(string(text)), string(c)) {
		return nil
	}
	step := journal.Step{Kind: journal.KindSetting, Path: path, Value: "+" + string(c), Old: "-" + string(c)}
	return l.Journal.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, write(path, step.Value) })
}

func (l *Lab) directory(path, node string) error {
	step := journal.Step{Kind: journal.KindCgroup, Path: path, Node: node}
	return l.Journal.Make(step, func() (journal.Learnt, error) {
		err := os.Mkdir(path, 0o755)
		// The lab's group is ours, so what is in it is: another controller of the
		// same hierarchy was here first.
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return journal.Learnt{}, fmt.Errorf("make control group: %w", err)
		}
		return journal.Learnt{Inode: journal.Inode(path)}, nil
	})
}

func (l *Lab) limit(h cgroup.Hierarchy, c Controller, dir string, n plan.Node) error {
	if c == Memory {
		file := "memory.max"
		if h.Version == 1 {
			file = "memory.limit_in_bytes"
		}
		return write(filepath.Join(dir, file), strconv.FormatInt(n.MemoryBytes, 10))
	}
	if err := write(filepath.Join(dir, "cpuset.cpus"), host.FormatCPUList(n.CPUs)); err != nil {
		return err
	}
	if len(n.MemoryNodes) > 0 {
		return write(filepath.Join(dir, "cpuset.mems"), host.FormatCPUList(n.MemoryNodes))
	}
	if h.Version == 1 {
		return inherit(filepath.Dir(dir), dir, "cpuset.mems")
	}
	return nil
}

func inherit(from, to, file string) error {
	text, err := os.ReadFile(filepath.Join(from, file))
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(from, file), err)
	}
	return write(filepath.Join(to, file), strings.TrimSpace(string(text)))
}

func write(path, value string) error {
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, path, err)
	}
	return nil
}
