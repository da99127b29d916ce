package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUTime is how long the service's processes have been on a CPU, by the kernel (/proc/PID/task/TID/schedstat), without
// what those that have ended used. It is not known where a container's tool started them, so that they are no children of
// the keeper.
func (s State) CPUTime() (total time.Duration, known bool) {
	for _, pid := range children(s.Keeper) {
		of, ok := treeTime(pid)
		total, known = total+of, known || ok
	}
	return total, known
}

// treeTime is the time of a process and of its descendants.
func treeTime(pid int) (total time.Duration, known bool) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // only a wrong pattern is an error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		ran, err := strconv.ParseInt(strings.SplitN(string(text), " ", 2)[0], 10, 64)
		if err == nil {
			total, known = total+time.Duration(ran), true
		}
	}
	for _, child := range children(pid) {
		of, ok := treeTime(child)
		total, known = total+of, known || ok
	}
	return total, known
}

func children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var list []int
	for _, file := range files {
		text, _ := os.ReadFile(file) // of a thread that has ended there is none
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}
