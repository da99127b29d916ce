package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"nines.dev/nines/kernel/proc"
)

// Bind lets the threads of a process use these CPUs and no others. It skips those that end meanwhile;
// threads that start later inherit their parent's.
func Bind(pid int, cpus Set) error {
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return fmt.Errorf("list the threads of process %d: %w", pid, err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := setMask(id, cpus); err != nil && !proc.IsGone(err) {
			return fmt.Errorf("move thread %d of process %d to CPUs %s: %w", id, pid, cpus, err)
		}
	}
	return nil
}
