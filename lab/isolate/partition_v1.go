package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// prepareV1 does what the thesis of 2023 does with cset: a housekeeping set takes all tasks of the
// root, the lab's set has its CPUs exclusively, and the root no longer balances load, so that each
// set is its own scheduling domain, and an isolated one is in none
// (Documentation/admin-guide/cgroup-v1/cpusets.rst, 1.7).
//
// Exclusive alone is not enough in v1: it keeps other sets off the CPUs, but not the tasks of the
// root.
func (l *Lab) prepareV1(h cgroup.Hierarchy, taken tasks.Set) error {
	if err := l.shrinkOthers(h, taken); err != nil {
		return err
	}
	if err := l.Claim(); err != nil {
		return err
	}
	if slices.ContainsFunc(l.Plan.Nodes, func(n plan.Node) bool { return n.Runtime.Descriptor().Groups == spec.GroupedByTools }) {
		// Of the tools that make groups, LXC needs this; beside others' it does no harm. Without it LXC gives the first set on the path to a container, which is ours, all the
		// CPUs of the root (cpuset1_initialize in its src/lxc/cgroups/cgfsng.c).
		if _, _, err := setting.Make(l.Journal, journal.Step{Path: filepath.Join(h.Mount, "cgroup.clone_children"), Value: "1"}); err != nil {
			return err
		}
	}
	everybody, err := cpusOf(h.Mount)
	if err != nil {
		return err
	}
	house, own := filepath.Join(h.Mount, shared(l.Plan.Prefix)), filepath.Join(h.Mount, l.Plan.Prefix)
	if err := set(h, house, everybody.Minus(taken)); err != nil {
		return err
	}
	step := journal.Step{Kind: KindHousekeeping, Path: house, Target: h.Mount}
	err = l.Journal.Make(step, func() (journal.Learnt, error) {
		moved, err := tasks.Move(h.Mount, house, initProcess)
		l.state.moved(moved)
		return journal.Learnt{}, err
	})
	if err != nil {
		return err
	}
	if err := set(h, own, taken); err != nil {
		return err
	}
	if err := write(filepath.Join(own, "cpuset.cpu_exclusive"), "1"); err != nil {
		return explainExclusive(h, own, taken, err)
	}
	if l.Plan.Isolation != spec.IsolationIsolated {
		return nil
	}
	if err := write(filepath.Join(own, balanceFile), "0"); err != nil {
		return err
	}
	_, _, err = setting.Make(l.Journal, journal.Step{Path: filepath.Join(h.Mount, balanceFile), Value: "0"})
	return err
}

// KindHousekeeping is a v1 control group, Path, into which all tasks of another, Target, were
// moved, except those that the kernel does not allow to move. The undo moves all its tasks back.
var KindHousekeeping = journal.Register("housekeeping", journal.Undo{Step: func(_ context.Context, u journal.Undoing) error {
	_, err := tasks.Move(u.Path, u.Target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}})

// initProcess stays in the root, as in the thesis: LXC makes its groups below the group of process
// 1. Settle takes the CPUs from it by its affinity, which its children inherit.
const initProcess = 1

const balanceFile = "cpuset.sched_load_balance"

// set makes a cpuset of some CPUs, with all the memory nodes of the root.
func set(h cgroup.Hierarchy, dir string, cpus tasks.Set) error {
	if err := mkdir(dir); err != nil {
		return err
	}
	if err := write(filepath.Join(dir, cpusFile), cpus.String()); err != nil {
		return err
	}
	return inherit(h.Mount, dir, "cpuset.mems")
}

func cpusOf(dir string) (tasks.Set, error) {
	text, err := readFile(filepath.Join(dir, cpusFile))
	if err != nil {
		return nil, err
	}
	cpus, err := tasks.ParseSet(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, cpusFile), err)
	}
	return cpus, nil
}

// shrinkOthers removes the CPUs from the sets of others, each as a setting in the journal: the
// deepest first, as a set must contain the CPUs of its children.
func (l *Lab) shrinkOthers(h cgroup.Hierarchy, taken tasks.Set) error {
	others, err := othersV1(h, l.Plan)
	if err != nil {
		return err
	}
	for _, o := range others {
		rest := o.cpus.Minus(taken)
		if len(rest) == 0 {
			return o.refusal(taken)
		}
		if _, _, err := setting.Make(l.Journal, journal.Step{Path: filepath.Join(o.dir, cpusFile), Value: rest.String()}); err != nil {
			return err
		}
	}
	return nil
}

// checkOthersV1 refuses CPUs if they are the only ones of another's set.
func checkOthersV1(h cgroup.Hierarchy, p *plan.Plan) error {
	others, err := othersV1(h, p)
	if err != nil {
		return err
	}
	for _, o := range others {
		if len(o.cpus.Minus(p.IsolatedCPUs)) == 0 {
			return o.refusal(p.IsolatedCPUs)
		}
	}
	return nil
}

// other is a cpuset that is not ours.
type other struct {
	dir  string
	cpus tasks.Set
}

func (o other) refusal(taken tasks.Set) error {
	return &exit.MissingError{
		Capability: "cpuset partition",
		Reason:     fmt.Sprintf("the control group %s has CPUs %s, which the lab needs exclusively", o.dir, o.cpus),
		Remedy:     fmt.Sprintf("take down what is in it, or choose CPUs other than %s with cpu_list", taken),
	}
}

// othersV1 lists the sets below the root that have some of the plan's isolated CPUs, the deepest
// first. Left out are the lab's own, which are there while it is up, or after its start was killed.
func othersV1(h cgroup.Hierarchy, p *plan.Plan) ([]other, error) {
	var own []string
	for _, name := range GroupNames(p) {
		own = append(own, filepath.Join(h.Mount, name))
	}
	taken := tasks.Set(p.IsolatedCPUs)
	var list []other
	err := filepath.WalkDir(h.Mount, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == h.Mount {
			return ignoreAbsent(err)
		}
		if slices.Contains(own, path) {
			return fs.SkipDir
		}
		cpus, err := cpusOf(path)
		if err != nil {
			return ignoreAbsent(err)
		}
		if cpus.Meets(taken) {
			list = append(list, other{path, cpus})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the cpusets of others: %w", err)
	}
	depth := func(o other) int { return strings.Count(o.dir, "/") }
	slices.SortStableFunc(list, func(a, b other) int { return depth(b) - depth(a) })
	return list, nil
}
