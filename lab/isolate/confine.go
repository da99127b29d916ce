package isolate

import (
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Lab makes the groups of one lab. It is safe for concurrent use.
type Lab struct {
	Journal *journal.Journal
	Plan    *plan.Plan
	// StateDir is the lab's folder.
	StateDir string
	// Ledger is the file of the host's settings; empty is setting.HostLedger.
	Ledger string

	mu sync.Mutex
	// restricted are the groups that have their device rules.
	restricted map[string]bool
	state      State
}

// Confine makes a node's groups and moves its first process into them.
func (l *Lab) Confine(n plan.Node, pid int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	dirs, err := l.lay(n)
	if err != nil {
		return err
	}
	for dir := range dirs {
		if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// lay makes a node's groups with its limits.
func (l *Lab) lay(n plan.Node) (map[string]bool, error) {
	dirs := map[string]bool{}
	for _, c := range Controllers(l.Plan, n) {
		h, err := Find(c)
		if err != nil && c.optional() {
			continue
		}
		if err != nil {
			return nil, err
		}
		dir, err := l.group(h, c, n)
		if err != nil {
			return nil, err
		}
		for _, limit := range Limits(l.Plan, n, h.Version, c) {
			if err := write(filepath.Join(dir, limit.File), limit.Value); err != nil {
				return nil, err
			}
		}
		if c == CPUSet && h.Version == 1 && len(n.MemoryNodes) == 0 {
			if err := inherit(filepath.Dir(dir), dir, "cpuset.mems"); err != nil {
				return nil, err
			}
		}
		dirs[dir] = true
	}
	return dirs, nil
}

// group makes <parent>/<host name>, with a controller ready for use in it.
func (l *Lab) group(h cgroup.Hierarchy, c Controller, n plan.Node) (string, error) {
	parent, err := l.parent(h, c, n)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, n.HostName)
	return dir, l.directory(dir, n.Name)
}

// Limit is one file of a node's control group and its value.
type Limit struct {
	File, Value string
}

// Limits are the files with which a controller of a cgroup version limits a node, in the order of
// writing. It is pure.
func Limits(p *plan.Plan, n plan.Node, version int, c Controller) []Limit {
	switch c {
	case Memory:
		file := map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[version]
		return []Limit{{File: file, Value: strconv.FormatInt(n.MemoryBytes, 10)}}
	case HugeTLB:
		return hugepageLimits(n, version)
	case PIDs:
		return []Limit{{File: "pids.max", Value: strconv.Itoa(MostProcesses)}}
	case CPUSet:
	}
	limits := []Limit{{File: "cpuset.cpus", Value: cpulist.Format(n.CPUs)}}
	if len(n.MemoryNodes) > 0 {
		limits = append(limits, Limit{File: "cpuset.mems", Value: cpulist.Format(n.MemoryNodes)})
	}
	// The lab's set around it is the exclusive one: LXC first gives a new set all the CPUs of its
	// parent, and they must not overlap another node's exclusive set.
	if version == 1 && n.Isolated && p.Isolation == spec.IsolationIsolated {
		limits = append(limits, Limit{File: balanceFile, Value: "0"})
	}
	return limits
}

// MostProcesses is how many processes and threads a container can have, so that one that forks
// without end leaves process ids to the host. It is twice podman's default, which is meant for one
// program (pids_limit in containers.conf(5)).
const MostProcesses = 4096

// VersionedLimit is a limit of a hierarchy of version 1 or 2.
type VersionedLimit struct {
	Version int
	Limit
}

// NodeLimits are all of a node's limits on this host, for a runtime that makes the groups itself.
func NodeLimits(p *plan.Plan, n plan.Node) ([]VersionedLimit, error) {
	var list []VersionedLimit
	for _, c := range Controllers(p, n) {
		h, err := Find(c)
		if err != nil && c.optional() {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, limit := range Limits(p, n, h.Version, c) {
			list = append(list, VersionedLimit{h.Version, limit})
		}
	}
	return list, nil
}

// hugepageLimits limit the hugepages that a node may use, and also those it may reserve: without
// the latter (Linux 5.7, Documentation/admin-guide/cgroup-v1/hugetlb.rst) a mapping beyond the
// limit succeeds, and the program is killed when it touches the memory.
func hugepageLimits(n plan.Node, version int) []Limit {
	size := pageName(n.HugepageSize)
	value := strconv.FormatInt(n.HugepageBytes, 10)
	if version == 2 {
		return []Limit{{"hugetlb." + size + ".max", value}, {"hugetlb." + size + ".rsvd.max", value}}
	}
	return []Limit{{"hugetlb." + size + ".limit_in_bytes", value}, {"hugetlb." + size + ".rsvd.limit_in_bytes", value}}
}

// pageName is a hugepage's size in the names of the controller's files (mem_fmt in
// mm/hugetlb_cgroup.c).
func pageName(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%dGB", bytes>>30)
	case bytes >= 1<<20:
		return fmt.Sprintf("%dMB", bytes>>20)
	}
	return fmt.Sprintf("%dKB", bytes>>10)
}
