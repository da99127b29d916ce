package stall

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/measure/trace"
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

// walk visits the threads of a process and of all its descendants.
func walk(root string, pid int, visit func(pid, tid int, name string)) {
	tasksOf := func(pid int) string { return filepath.Join(root, "proc", strconv.Itoa(pid), "task") }
	next := []int{pid}
	// A kernel without CONFIG_PROC_CHILDREN lists no children, so that all processes have to be looked
	// at, which takes longer.
	if _, err := os.Stat(filepath.Join(tasksOf(pid), strconv.Itoa(pid), "children")); err != nil {
		next = trace.Descendants(root, pid)
	}
	for len(next) > 0 {
		pid := next[0]
		next = next[1:]
		entries, err := os.ReadDir(tasksOf(pid))
		if err != nil {
			continue
		}
		for _, entry := range entries {
			folder := filepath.Join(tasksOf(pid), entry.Name())
			tid, err := strconv.Atoi(entry.Name())
			if err != nil {
				continue
			}
			name, err := os.ReadFile(filepath.Join(folder, "comm"))
			if err != nil {
				continue
			}
			visit(pid, tid, strings.TrimSpace(string(name)))
			children, _ := os.ReadFile(filepath.Join(folder, "children"))
			for field := range strings.FieldsSeq(string(children)) {
				if child, err := strconv.Atoi(field); err == nil {
					next = append(next, child)
				}
			}
		}
	}
}
