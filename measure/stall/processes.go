package stall

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Processes returns a process and all its live descendants.
func Processes(pid int) []int {
	var pids []int
	walk("/", pid, func(pid, tid int, _ string) {
		if pid == tid {
			pids = append(pids, pid)
		}
	})
	return pids
}

// threadsOf returns the threads of a process and all its descendants, with their names. A process
// that has ended has none.
func threadsOf(root string, pid int) map[int]string {
	threads := map[int]string{}
	walk(root, pid, func(_, tid int, name string) { threads[tid] = name })
	return threads
}

func walk(root string, pid int, visit func(pid, tid int, name string)) {
	for next := []int{pid}; len(next) > 0; {
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
			visit(pid, tid, strings.TrimSpace(string(name)))
			// Needs CONFIG_PROC_CHILDREN; without it only the process itself is found.
			children, _ := os.ReadFile(filepath.Join(tasks, entry.Name(), "children"))
			for field := range strings.FieldsSeq(string(children)) {
				if child, err := strconv.Atoi(field); err == nil {
					next = append(next, child)
				}
			}
		}
	}
}
