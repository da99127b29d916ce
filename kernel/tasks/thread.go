package tasks

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
)

// Thread is one thread of the host as it is now.
type Thread struct {
	// ID is the thread's ID, Process its thread group's, Parent that of the process
	// that started the group.
	ID, Process, Parent int
	// StartTicks is its start in clock ticks since boot, as proc.Identity has it.
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

// All lists the threads of this host. It leaves out those that end meanwhile, and fails if it cannot
// read one that has not: an account without it could not give it its CPUs back.
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
		if err != nil && !proc.IsGone(err) {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		for _, thread := range threads {
			t, err := readThread(filepath.Join(folder, thread.Name()))
			if err != nil {
				return nil, err
			}
			if t != nil {
				t.Process = process
				list = append(list, *t)
			}
		}
	}
	return list, nil
}

// readThread reads /proc/PID/task/TID: stat has all but the mask, proc(5). It returns nil for a thread
// that has ended.
func readThread(dir string) (*Thread, error) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err == nil {
		var status []byte
		if status, err = os.ReadFile(filepath.Join(dir, "status")); err == nil {
			return parseThread(dir, stat, status)
		}
	}
	if proc.IsGone(err) {
		return nil, nil
	}
	return nil, fmt.Errorf("read a thread: %w", err)
}

func parseThread(dir string, stat, status []byte) (*Thread, error) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return nil, fmt.Errorf("read %s/stat: it has no name in brackets", dir)
	}
	// From field 3 on.
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 37 {
		return nil, fmt.Errorf("read %s/stat: it ends after %d fields", dir, len(fields)+2)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return nil, nil
	}
	var failures []error
	number := func(text string) uint64 {
		n, err := strconv.ParseUint(text, 10, 64)
		failures = append(failures, err)
		return n
	}
	field := func(n int) uint64 { return number(fields[n-3]) }
	flags := field(9)
	start, err := proc.SinceBoot(field(22))
	failures = append(failures, err)
	t := Thread{
		ID: int(number(filepath.Base(dir))), Name: string(stat[open+1 : end]), Parent: int(field(4)), StartTicks: start, LastCPU: int(field(39)),
		Kernel: flags&flagKernel != 0, Fixed: flags&flagFixed != 0,
	}
	t.CPUs, err = parseMask(status)
	if err = errors.Join(append(failures, err)...); err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return &t, nil
}

func parseMask(status []byte) (Set, error) {
	for line := range strings.Lines(string(status)) {
		if list, found := strings.CutPrefix(line, "Cpus_allowed_list:"); found {
			return ParseSet(list)
		}
	}
	return nil, errors.New("its status has no Cpus_allowed_list")
}

// Bind lets the thread use these CPUs and no others; one that has ended needs none.
func (t Thread) Bind(cpus Set) error {
	if err := setMask(t.ID, cpus); err != nil && !proc.IsGone(err) {
		return fmt.Errorf("move thread %d of process %d to CPUs %s: %w", t.ID, t.Process, cpus, err)
	}
	return nil
}

// setMask sets the CPUs that a thread may use.
func setMask(id int, cpus Set) error {
	var mask unix.CPUSet
	for _, cpu := range cpus {
		mask.Set(cpu)
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(id, &mask))
}
