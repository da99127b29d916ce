package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/thread"
	"nines.dev/nines/spec"
)

// schedulingOption is a policy as an option of nines-init: "fifo:50", "other:-5".
func schedulingOption(s *spec.Scheduling) string {
	value := s.Nice
	if s.Policy.RealTime() {
		value = s.Priority
	}
	return string(s.Policy) + ":" + strconv.Itoa(value)
}

// rtRuntime is the file of a v1 cgroup on a kernel with RT_GROUP_SCHED.
const rtRuntime = "cpu.rt_runtime_us"

// realTimeGroup is the group of the cpu controller in which a process of any node may have a
// real-time policy. With RT_GROUP_SCHED each v1 group has a share of the time for real-time
// threads. It is 0 in a new group, so that sched_setscheduler(2) fails there with EPERM
// (kernel/sched/syscalls.c; Documentation/scheduler/sched-rt-group.rst). The root group has the
// host's share. Giving part of it to a group of ours would take it from all others, and two labs
// could not both have it; so such processes run in the root group of this one hierarchy. nines uses
// nothing else of the cpu controller. The result is empty where nothing has to be done.
func realTimeGroup() (cgroup.Hierarchy, error) {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return cgroup.Hierarchy{}, err
	}
	for _, h := range hierarchies {
		if h.Version != 1 || !h.Has("cpu") {
			continue
		}
		if _, err := os.Stat(filepath.Join(h.Mount, rtRuntime)); err != nil {
			continue
		}
		for _, other := range []string{"cpuset", "memory"} {
			if h.Has(other) {
				return h, lacksRealTime(fmt.Sprintf("the kernel has RT_GROUP_SCHED, and %s joins cpu and %s, so a process cannot leave one group and stay in the other", h.Mount, other), nil)
			}
		}
		return h, nil
	}
	return cgroup.Hierarchy{}, nil
}

// withRealTime changes a list of groups to join so that they allow real-time policies.
func withRealTime(groups []string) ([]string, error) {
	h, err := realTimeGroup()
	if err != nil || h.Mount == "" {
		return groups, err
	}
	groups = slices.DeleteFunc(groups, func(dir string) bool { return strings.HasPrefix(dir+"/", h.Mount+"/") })
	return append(groups, h.Mount), nil
}

// CheckScheduling checks that a process of a node may have a policy: a thread of nines takes the
// policy, in the group that the node would use, and ends at once.
func CheckScheduling(s *spec.Scheduling) error {
	if s == nil {
		return nil
	}
	group := cgroup.Hierarchy{}
	if s.Policy.RealTime() {
		var err error
		if group, err = realTimeGroup(); err != nil {
			return err
		}
		if group.Mount == "" {
			if err := checkVersion2(); err != nil {
				return err
			}
		}
	}
	err := thread.Ending(func() error { return tryScheduling(s, group) })
	if errors.Is(err, unix.EPERM) {
		return lacksRealTime("this process may not set "+schedulingOption(s), err)
	}
	return err
}

func tryScheduling(s *spec.Scheduling, group cgroup.Hierarchy) error {
	if group.Mount != "" {
		// cgroup v1 moves single threads.
		path := filepath.Join(group.Mount, "tasks")
		if err := os.WriteFile(path, []byte(strconv.Itoa(unix.Gettid())), 0o644); err != nil {
			return fmt.Errorf("move a thread to %s: %w", path, err)
		}
	}
	attributes := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: kernelPolicies[s.Policy], Nice: int32(s.Nice), Priority: uint32(s.Priority)}
	return os.NewSyscallError("sched_setattr", unix.SchedSetAttr(0, attributes, 0))
}

var kernelPolicies = map[spec.SchedulingPolicy]uint32{
	spec.SchedulingOther: unix.SCHED_NORMAL, spec.SchedulingBatch: unix.SCHED_BATCH, spec.SchedulingIdle: unix.SCHED_IDLE,
	spec.SchedulingFIFO: unix.SCHED_FIFO, spec.SchedulingRR: unix.SCHED_RR,
}

// checkVersion2 checks for a problem of cgroup v2: a kernel with RT_GROUP_SCHED allows real-time
// policies only in the root group once the cpu controller is in use
// (Documentation/admin-guide/cgroup-v2.rst, "CPU"), and a node with CPUs has a group.
func checkVersion2() error {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	for _, h := range hierarchies {
		if h.Version != 2 {
			continue
		}
		used, err := os.ReadFile(filepath.Join(h.Mount, "cgroup.subtree_control"))
		if err != nil || !strings.Contains(" "+strings.TrimSpace(string(used))+" ", " cpu ") {
			continue
		}
		inventory, err := host.Read()
		if err != nil {
			return err
		}
		if inventory.RTGroupSched() && realTimeShare() >= 0 {
			return lacksRealTime("the kernel has RT_GROUP_SCHED, which keeps real-time policies out of all groups of version 2 but the root while the cpu controller is in use", nil)
		}
	}
	return nil
}

// realTimeShare is kernel.sched_rt_runtime_us; -1 lifts the limit, and with it the refusals of
// RT_GROUP_SCHED.
func realTimeShare() int {
	text, err := os.ReadFile("/proc/sys/kernel/sched_rt_runtime_us")
	if err != nil {
		return 0
	}
	value, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return value
}

func lacksRealTime(reason string, err error) error {
	return &exit.MissingError{
		Capability: "scheduling policies", Reason: reason, Err: err,
		Remedy: "run as root with CAP_SYS_NICE; with RT_GROUP_SCHED boot with rt_group_sched=0, or sysctl kernel.sched_rt_runtime_us=-1; or remove scheduling from the file",
	}
}
