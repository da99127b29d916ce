package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// pinVCPUs pins a guest's vCPU threads as the plan says, one on each CPU of the node, with the
// node's policy. QEMU's other threads stay where they started. inside are thread ids in QEMU's own
// pid namespace.
func pinVCPUs(n plan.Node, qemu proc.Identity, inside []int) error {
	threads, err := hostThreads(qemu, inside)
	if err != nil {
		return err
	}
	group := cgroup.Hierarchy{}
	if s := n.Scheduling; s != nil && s.Policy.RealTime() {
		var err error
		if group, err = realTimeGroup(); err != nil {
			return err
		}
	}
	for i, thread := range threads {
		cpus := n.CPUs
		if n.VM.Pinned {
			cpus = n.RunOn()[i : i+1]
		}
		if err := pin(thread, cpus); err != nil {
			return fmt.Errorf("put CPU %d of the guest on CPUs %v: %w", i, cpus, err)
		}
		if err := schedule(thread, n.Scheduling, group); err != nil {
			return fmt.Errorf("give CPU %d of the guest its policy: %w", i, err)
		}
	}
	return nil
}

// hostThreads converts thread ids in a process's innermost pid namespace to the host's: NSpid of
// proc_pid_status(5).
func hostThreads(process proc.Identity, inside []int) ([]int, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", process.PID))
	if err != nil {
		return nil, err
	}
	outside := map[int]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for line := range strings.Lines(string(text)) {
			numbers, found := strings.CutPrefix(line, "NSpid:")
			if !found {
				continue
			}
			words := strings.Fields(numbers)
			first, _ := strconv.Atoi(words[0])
			last, _ := strconv.Atoi(words[len(words)-1])
			outside[last] = first
		}
	}
	threads := make([]int, len(inside))
	for i, number := range inside {
		if threads[i] = outside[number]; threads[i] == 0 {
			return nil, fmt.Errorf("process %d has no thread %d, which runs CPU %d of the guest", process.PID, number, i)
		}
	}
	return threads, nil
}

func pin(thread int, cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(thread, &set))
}

// schedule gives a thread a policy, in a cpu controller group that allows it.
func schedule(thread int, s *spec.Scheduling, group cgroup.Hierarchy) error {
	if s == nil {
		return nil
	}
	if group.Mount != "" {
		path := filepath.Join(group.Mount, "tasks")
		if err := os.WriteFile(path, []byte(strconv.Itoa(thread)), 0o644); err != nil {
			return fmt.Errorf("move a thread to %s: %w", path, err)
		}
	}
	attributes := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: kernelPolicies[s.Policy], Nice: int32(s.Nice), Priority: uint32(s.Priority)}
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(thread, attributes, 0))
}
