package tend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/tasks"
)

// errNotOnNode means that the agent sees only its own processes.
var errNotOnNode = errors.New("the agent does not see the node's processes: its pod needs hostPID: true and privileged: true")

// onNode returns nil if the agent sees the node's processes, with the names of their control groups.
func onNode() error {
	if os.Getpid() == 1 {
		return errNotOnNode
	}
	groups, err := os.ReadFile("/proc/1/cgroup")
	if err != nil {
		return fmt.Errorf("%w: %w", errNotOnNode, err)
	}
	// The kernel shows groups outside the process's cgroup namespace this way (cgroup_namespaces(7)).
	if strings.Contains(string(groups), ":/..") {
		return errNotOnNode
	}
	return nil
}

// podStarters are the programs that start containers, by the beginnings of their names. Children inherit CPU
// affinity: a pod that one of these starts must not inherit that it is kept off CPUs, which may be its own.
var podStarters = []string{"kubelet", "containerd", "crio", "conmon", "dockerd", "cri-dockerd", "runc", "crun"}

// podsGroup is part of the names of all control groups of pods, with either cgroup driver of the kubelet.
const podsGroup = "kubepods"

// includes returns which threads are kept off the exclusive CPUs of pods: all except those in pods, which the
// kubelet keeps off, and those that start pods, with their ancestors.
func includes() (func(tasks.Thread) bool, error) {
	all, err := tasks.All()
	if err != nil {
		return nil, err
	}
	parents, starts := map[int]int{}, map[int]bool{1: true}
	for _, t := range all {
		parents[t.Process] = t.Parent
	}
	for _, t := range all {
		// The kernel cuts names to 15 characters, and the kubelet may be part of a program with another name.
		starter := slices.ContainsFunc(podStarters, func(name string) bool { return strings.HasPrefix(t.Name, name) })
		if t.ID == t.Process && !t.Kernel && (starter || isKubelet(t.Process)) {
			for p := t.Process; p > 0 && !starts[p]; p = parents[p] {
				starts[p] = true
			}
		}
	}
	return func(t tasks.Thread) bool {
		if t.Kernel {
			return true
		}
		if starts[t.Process] {
			return false
		}
		groups, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(t.Process), "cgroup"))
		return err == nil && !strings.Contains(string(groups), podsGroup)
	}, nil
}

// isKubelet reports whether a process was started by the kubelet's name, or as the part kubelet of another
// program.
func isKubelet(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	words := strings.SplitN(string(text), "\x00", 3)
	return err == nil && slices.ContainsFunc(words[:min(len(words), 2)], func(w string) bool { return filepath.Base(w) == "kubelet" })
}

// hostThreads reports whether kernel threads have the IDs that the kernel reports: in the initial PID
// namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h).
func hostThreads() bool {
	const first = "pid:[4026531836]"
	now, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && now == first
}

// cpuSetOf returns the file by which a process joins the cpuset of the pod with a network namespace: the
// cpuset of a container that runs only on these CPUs.
func cpuSetOf(pod *netns.Namespace, own tasks.Set) (string, error) {
	inode, err := pod.Inode()
	if err != nil {
		return "", err
	}
	found := 0
	err = proc.Each(func(id proc.Identity) error {
		if found == 0 && id.NetInode() == inode && runsOn(id.PID, own) {
			found = id.PID
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if found == 0 {
		return "", fmt.Errorf("no process of the pod runs on its CPUs %s yet", own)
	}
	return cgroup.FileOf(found, "cpuset", "cgroup.procs")
}

func runsOn(pid int, own tasks.Set) bool {
	var set unix.CPUSet
	if unix.SchedGetaffinity(pid, &set) != nil {
		return false
	}
	some := false
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			if !slices.Contains(own, cpu) {
				return false
			}
			some = true
		}
	}
	return some
}
