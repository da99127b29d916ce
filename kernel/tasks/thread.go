package tasks

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Thread is one thread of the host as it is now.
type Thread struct {
	// ID is the thread's ID, Process its thread group's, Parent that of the process
	// that started the group.
	ID, Process, Parent int
	// StartTicks is its start in clock ticks since boot.
	StartTicks uint64
	Name       string
	// Kernel is true for a kernel thread; Fixed is true if the kernel does not allow
	// moving it.
	Kernel, Fixed bool
	// CPUs are those that it may use.
	CPUs Set
	// LastCPU is where it ran last.
	LastCPU int
}

// Flags of a task in /proc/PID/stat, include/linux/sched.h.
const (
	flagKernel = 0x00200000 // PF_KTHREAD
	flagFixed  = 0x04000000 // PF_NO_SETAFFINITY
)

// All lists the threads of this host. It leaves out those that end meanwhile.
func All() ([]Thread, error) { return allBelow("/proc") }

func allBelow(root string) ([]Thread, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	var list []Thread
	for _, entry := range entries {
		process, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		folder := filepath.Join(root, entry.Name(), "task")
		threads, err := os.ReadDir(folder)
		if err != nil {
			continue // it has ended
		}
		for _, thread := range threads {
			if t, ok := readThread(filepath.Join(folder, thread.Name())); ok {
				t.Process = process
				list = append(list, t)
			}
		}
	}
	return list, nil
}

// readThread reads /proc/PID/task/TID: stat has all but the mask, proc(5).
func readThread(dir string) (t Thread, ok bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return t, false
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return t, false
	}
	// From field 3 on.
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 37 || fields[0] == "Z" || fields[0] == "X" {
		return t, false
	}
	number := func(field int) uint64 {
		n, e := strconv.ParseUint(fields[field-3], 10, 64)
		if e != nil {
			err = e
		}
		return n
	}
	flags := number(9)
	t = Thread{
		Name: string(stat[open+1 : end]), Parent: int(number(4)), StartTicks: number(22), LastCPU: int(number(39)),
		Kernel: flags&flagKernel != 0, Fixed: flags&flagFixed != 0,
	}
	id, e := strconv.Atoi(filepath.Base(dir))
	if err != nil || e != nil {
		return t, false
	}
	t.ID = id
	t.CPUs, ok = readMask(dir)
	return t, ok
}

func readMask(dir string) (Set, bool) {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(status)) {
		if list, found := strings.CutPrefix(line, "Cpus_allowed_list:"); found {
			set, err := ParseSet(list)
			return set, err == nil
		}
	}
	return nil, false
}

// setMask sets the CPUs that a thread may use.
func setMask(id int, cpus Set) error {
	var mask unix.CPUSet
	for _, cpu := range cpus {
		mask.Set(cpu)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(id, &mask))
}
