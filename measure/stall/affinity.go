package stall

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// keepTo restricts all threads of nines to some CPUs, so that nines does not disturb the watched
// ones; an empty list changes nothing. The returned function undoes it.
func keepTo(cpus []int) (giveBack func() error, err error) {
	if len(cpus) == 0 {
		return func() error { return nil }, nil
	}
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, err
	}
	for _, cpu := range cpus {
		if before.IsSet(cpu) {
			set.Set(cpu)
		}
	}
	if set.Count() == 0 {
		return func() error { return nil }, nil
	}
	if err := setAll(&set); err != nil {
		return nil, errors.Join(err, setAll(&before))
	}
	return func() error { return setAll(&before) }, nil
}

// setAll sets the CPUs of all threads of this process. New threads inherit them.
func setAll(set *unix.CPUSet) error {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if err := unix.SchedSetaffinity(tid, set); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}

// readSteal returns what a hypervisor has taken from each CPU so far, in ns: field 8 of the lines
// of /proc/stat, in ticks of 10 ms (proc_stat(5)). It is supplementary.
func readSteal() map[int]int64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	steal := map[int]int64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		id, isCPU := "", false
		if len(fields) > 8 {
			id, isCPU = strings.CutPrefix(fields[0], "cpu")
		}
		cpu, err := strconv.Atoi(id)
		if !isCPU || err != nil {
			continue
		}
		if ticks, err := strconv.ParseInt(fields[8], 10, 64); err == nil {
			steal[cpu] = ticks * 10_000_000
		}
	}
	return steal
}
