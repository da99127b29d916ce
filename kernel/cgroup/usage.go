package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrRoot says that a process is in the root group, whose CPU time is that of the whole machine.
var ErrRoot = errors.New("it is in the root control group")

// CPUTime is what the group of a process, and those below it, have used of all CPUs since the group was made: cpuacct.usage
// of version 1, usage_usec of cpu.stat of version 2 (Documentation/admin-guide/cgroup-v1/cpuacct.rst, cgroup-v2.rst).
func CPUTime(pid int) (time.Duration, error) {
	path, err := FileOf(pid, "cpuacct", "cpuacct.usage")
	// Only the root group of version 1 has this file.
	root, parse := exists(path, "release_agent"), parseUsage
	if err != nil {
		if path, err = FileOf(pid, "cpu", "cpu.stat"); err != nil {
			return 0, err
		}
		// Only the root group of version 2 lacks this file.
		root, parse = !exists(path, "cgroup.type"), parseStat
	}
	if root {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, ErrRoot)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	used, err := parse(string(text))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %s: %w", pid, path, err)
	}
	return used, nil
}

// exists reports whether there is a file beside another one.
func exists(beside, name string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(beside), name))
	return err == nil
}

// parseUsage reads cpuacct.usage, in ns.
func parseUsage(text string) (time.Duration, error) {
	ns, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return time.Duration(ns), err
}

// parseStat reads cpu.stat.
func parseStat(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if value, is := strings.CutPrefix(line, "usage_usec "); is {
			us, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return time.Duration(us) * time.Microsecond, err
		}
	}
	return 0, errors.New("it has no usage_usec")
}
