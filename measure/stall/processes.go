package stall

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// threadsOf are the threads of processes and of all their descendants, by number, with
// their names. A process that is gone has none.
func threadsOf(root string, pids ...int) map[int]string {
	threads := map[int]string{}
	for next := pids; len(next) > 0; {
		pid := next[0]
		next = next[1:]
		tasks := filepath.Join(root, "proc", strconv.Itoa(pid), "task")
		entries, err := os.ReadDir(tasks)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			tid, err := strconv.Atoi(entry.Name())
			if err != nil {
				continue
			}
			name, err := os.ReadFile(filepath.Join(tasks, entry.Name(), "comm"))
			if err != nil {
				continue
			}
			threads[tid] = strings.TrimSpace(string(name))
			// CONFIG_PROC_CHILDREN; without it only the processes themselves are seen.
			children, _ := os.ReadFile(filepath.Join(tasks, entry.Name(), "children"))
			for field := range strings.FieldsSeq(string(children)) {
				if child, err := strconv.Atoi(field); err == nil {
					next = append(next, child)
				}
			}
		}
	}
	return threads
}
