package isolate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/spec"
)

// The files of a partition, "Cpuset Interface Files" in Documentation/admin-guide/cgroup-v2.rst:
// the partition itself since Linux 5.0, its type isolated since 6.1, exclusive CPUs that a parent
// grants since 6.7.
const (
	cpusFile      = "cpuset.cpus"
	effectiveFile = "cpuset.cpus.effective"
	partitionFile = "cpuset.cpus.partition"
	exclusiveFile = "cpuset.cpus.exclusive"
)

// remote is true where a group can be a partition below one that is not, which a kernel with
// cpuset.cpus.exclusive allows.
func remote(dir string) bool { return exists(filepath.Join(dir, exclusiveFile)) }

// prepareV2 makes the lab's group. Where the kernel has remote partitions, the group only passes
// CPUs down, and each isolated node's group becomes its own partition. Otherwise the lab's group is
// the partition, as a local partition needs one above it, which the root is.
func (l *Lab) prepareV2(h cgroup.Hierarchy, taken tasks.Set) error {
	if err := l.delegate(h.Mount, CPUSet); err != nil {
		return err
	}
	if err := l.Claim(); err != nil {
		return err
	}
	dir := filepath.Join(h.Mount, l.Plan.Prefix)
	if err := ready(h, CPUSet, dir); err != nil {
		return err
	}
	if err := mkdir(filepath.Join(h.Mount, shared(l.Plan.Prefix))); err != nil {
		return err
	}
	if !remote(dir) {
		return partition(h, dir, taken, l.Plan.Isolation)
	}
	if err := write(filepath.Join(dir, exclusiveFile), taken.String()); err != nil {
		return explainExclusive(h, dir, taken, err)
	}
	idle := taken
	for _, n := range l.Plan.Nodes {
		if n.Isolated {
			idle = idle.Minus(n.CPUs)
		}
	}
	if len(idle) == 0 {
		return nil
	}
	// The idle siblings of pollers' CPUs: a partition without tasks.
	empty := filepath.Join(dir, l.Plan.Prefix+".idle")
	if err := mkdir(empty); err != nil {
		return err
	}
	return partition(h, empty, idle, l.Plan.Isolation)
}

// partition makes a group a partition of some CPUs, and reads back whether it is one: the kernel
// accepts the write, and marks the partition invalid where it is impossible.
func partition(h cgroup.Hierarchy, dir string, cpus tasks.Set, degree spec.Isolation) error {
	word := map[spec.Isolation]string{spec.IsolationPartition: "root", spec.IsolationIsolated: "isolated"}[degree]
	if err := write(filepath.Join(dir, cpusFile), cpus.String()); err != nil {
		return err
	}
	if remote(dir) {
		if err := write(filepath.Join(dir, exclusiveFile), cpus.String()); err != nil {
			return explainExclusive(h, dir, cpus, err)
		}
	}
	path := filepath.Join(dir, partitionFile)
	if !exists(path) {
		return missingPartition("this kernel has no "+partitionFile, "use Linux 5.0 or later, or --set isolation=affinity", nil)
	}
	if err := write(path, word); err != nil {
		if errors.Is(err, unix.EINVAL) && degree == spec.IsolationIsolated {
			return missingPartition("this kernel has partitions, but none without load balancing, which came with Linux 6.1",
				"use a newer kernel, boot with isolcpus, or --set isolation=partition", err)
		}
		return explainInvalid(h, dir, cpus, err.Error())
	}
	now, err := readFile(path)
	if err != nil {
		return err
	}
	if now != word {
		return explainInvalid(h, dir, cpus, now)
	}
	effective, err := readFile(filepath.Join(dir, effectiveFile))
	if err != nil {
		return err
	}
	if got, err := tasks.ParseSet(effective); err != nil || !got.Equal(cpus) {
		return missingPartition(fmt.Sprintf("%s is %q, and the partition has CPUs %s", filepath.Join(dir, effectiveFile), effective, cpus),
			"check that all of them are online", err)
	}
	return nil
}

func missingPartition(reason, remedy string, err error) error {
	return &exit.MissingError{Capability: "cpuset partition", Reason: reason, Err: err, Remedy: remedy}
}

// invalid are the kernel's reasons for an invalid partition, perr_strings in
// kernel/cgroup/cpuset.c, with remedies.
var invalid = []struct{ word, remedy string }{
	{"not exclusive", "take down what has these CPUs, or choose others with cpu_list"},
	{"housekeeping", "the CPUs are already isolated at boot: remove isolcpus= from the kernel's command line, or name other CPUs with cpu_list"},
	{"not a partition root", "the kernel allows partitions only below a partition: run nines outside of a container, or use Linux 6.7 or later"},
	{"invalid partition root", "a partition above this one is invalid: check cpuset.cpus.partition of the groups above"},
	{"unable to distribute", "the host would have no CPU left: leave at least one"},
	{"hotplug", "a CPU went offline: put it online again"},
	{"remote partition", "another remote partition is below: take it down"},
	{"empty", "the group has no CPUs"},
	{"not permitted", "run it as root, outside of a container"},
}

// explainInvalid turns the kernel's reason for an invalid partition into an error with a remedy.
func explainInvalid(h cgroup.Hierarchy, dir string, cpus tasks.Set, said string) error {
	remedy := "--set isolation=affinity does not need it"
	for _, reason := range invalid {
		if strings.Contains(strings.ToLower(said), reason.word) {
			remedy = reason.remedy + "; " + remedy
			break
		}
	}
	reason := fmt.Sprintf("CPUs %s of %s: the kernel says %q", cpus, dir, said)
	if others := holders(h.Mount, dir, cpus); len(others) > 0 {
		reason += "; " + strings.Join(others, ", ")
	}
	return missingPartition(reason, remedy, nil)
}

func explainExclusive(h cgroup.Hierarchy, dir string, cpus tasks.Set, err error) error {
	return explainInvalid(h, dir, cpus, "not exclusive: "+err.Error())
}

// holders names other control groups that claim some of the CPUs.
func holders(mount, dir string, cpus tasks.Set) []string {
	var found []string
	entries, err := os.ReadDir(mount)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(mount, entry.Name())
		if !entry.IsDir() || within(dir, path) {
			continue
		}
		for _, file := range []string{exclusiveFile, cpusFile} {
			text, err := readFile(filepath.Join(path, file))
			if set, parseErr := tasks.ParseSet(text); err == nil && parseErr == nil && set.Meets(cpus) {
				found = append(found, fmt.Sprintf("%s has %s", path, text))
				break
			}
		}
	}
	return found
}

// within is true for dir and all below it.
func within(path, dir string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(below)
}
