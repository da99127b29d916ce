package stall

import (
	"errors"
	"os"
	"strconv"

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
