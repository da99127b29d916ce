package traces

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
)

// Snapshot has every setting of a host that isolation may change, byte for byte, by file name, and
// the CPUs and the cpuset of each thread.
type Snapshot struct {
	files   map[string]string
	threads map[string]string
}

// snapshotFiles are patterns of files whose text is a setting.
var snapshotFiles = []string{
	"/proc/irq/default_smp_affinity", "/proc/irq/*/smp_affinity",
	"/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/cpumask_requested", "/sys/devices/virtual/workqueue/*/cpumask",
	"/sys/class/net/*/queues/*/rps_cpus", "/sys/class/net/*/queues/*/xps_cpus",
	"/sys/kernel/mm/hugepages/*/nr_hugepages", "/sys/class/net/*/device/sriov_numvfs",
}

// cpusetFiles are the files of each control group with the cpuset controller, of both cgroup
// versions. cpuset.cpus.isolated is not among them: it is read-only, and Linux 6.12 permanently
// removes CPUs of isolcpus= from it when a partition that had them ends.
var cpusetFiles = []string{
	"cgroup.subtree_control", "cgroup.type", "cgroup.clone_children",
	"cpuset.cpus", "cpuset.cpus.effective", "cpuset.cpus.exclusive", "cpuset.cpus.partition",
	"cpuset.mems", "cpuset.effective_cpus", "cpuset.cpu_exclusive", "cpuset.sched_load_balance",
}

// TakeSnapshot reads the host as it is now.
func TakeSnapshot(t *testing.T) Snapshot {
	t.Helper()
	s := Snapshot{files: map[string]string{}, threads: map[string]string{}}
	for _, pattern := range snapshotFiles {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if text, err := os.ReadFile(path); err == nil {
				s.files[path] = string(text)
			}
		}
	}
	s.nameInterrupts(t)
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies {
		err := filepath.WalkDir(h.Mount, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil //nolint:nilerr // a group that disappeared meanwhile
			}
			if d.Name() == "lxc.pivot" {
				return filepath.SkipDir // LXC's own, which it makes once and keeps
			}
			s.files[dir] = "a control group\n"
			for _, file := range cpusetFiles {
				if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil {
					s.files[filepath.Join(dir, file)] = string(text)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	threads, err := tasks.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/cgroup", thread.Process, thread.ID))
		if err != nil {
			continue // it has ended
		}
		// Only the kernel sets these masks: a workqueue's worker has its pool's, a rescuer that of
		// the pool it helped last, and Linux 6.1 itself loses those of NUMA nodes when anyone
		// makes a partition. An interrupt's thread runs where the kernel puts the interrupt within
		// its mask.
		if thread.Fixed || strings.HasPrefix(thread.Name, "irq/") {
			continue
		}
		name := fmt.Sprintf("thread %d, started at %d (%s)", thread.ID, thread.StartTicks, thread.Name)
		s.threads[name] = fmt.Sprintf("CPUs %s in %s", thread.CPUs, strings.ReplaceAll(string(groups), "\n", " "))
	}
	return s
}

// nameInterrupts names the interrupts of PCI devices by the device: a driver that gets or loses
// virtual functions requests its interrupts again, and they get other numbers. Interrupts without a
// handler, as of a card that is down, are left out: their files come and go.
func (s Snapshot) nameInterrupts(t *testing.T) {
	t.Helper()
	paths, err := filepath.Glob("/sys/bus/pci/devices/*/msi_irqs")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		entries, err := os.ReadDir(path)
		if err != nil {
			continue // the device disappeared meanwhile
		}
		var numbers []int
		for _, e := range entries {
			if n, err := strconv.Atoi(e.Name()); err == nil {
				numbers = append(numbers, n)
			}
		}
		slices.Sort(numbers)
		for i, n := range numbers {
			file := fmt.Sprintf("/proc/irq/%d/smp_affinity", n)
			mask, there := s.files[file]
			delete(s.files, file)
			// Each handler has a folder with its name.
			handlers, _ := filepath.Glob(filepath.Dir(file) + "/*/")
			if there && len(handlers) > 0 {
				s.files[fmt.Sprintf("interrupt %d of %s", i, filepath.Base(filepath.Dir(path)))] = mask
			}
		}
	}
}

// Changes lists the differences, except threads that ended or began meanwhile.
func (s Snapshot) Changes(after Snapshot) []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if now, there := after.files[path]; !there || now != s.files[path] {
			list = append(list, fmt.Sprintf("%s was %q and is %q", path, s.files[path], now))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after.files)) {
		if _, there := s.files[path]; !there {
			list = append(list, fmt.Sprintf("%s was not there and is %q", path, after.files[path]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.threads)) {
		if now, alive := after.threads[name]; alive && now != s.threads[name] {
			list = append(list, fmt.Sprintf("%s had %s and has %s", name, s.threads[name], now))
		}
	}
	return list
}
