package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reapOrphans reaps processes whose parents have died. The agent waits for the processes
// that it started at once, so only those that have been dead for a whole interval are
// reaped.
func reapOrphans() {
	const interval = 2 * time.Second
	dead := map[int]bool{}
	for {
		time.Sleep(interval)
		now := map[int]bool{}
		for _, pid := range zombies() {
			if dead[pid] {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
			now[pid] = true
		}
		dead = now
	}
}

// zombies are this process's children that have ended. Each thread has a list of its own
// children, proc_pid_task(5): reading all processes would cost a translated guest a tenth
// of a second.
func zombies() []int {
	var pids []int
	lists, _ := filepath.Glob("/proc/1/task/[0-9]*/children")
	for _, list := range lists {
		for child := range strings.FieldsSeq(readWhole(list)) {
			stat := readWhole("/proc/" + child + "/stat")
			// proc_pid_stat(5): the name is in brackets, and may hold any character.
			if !strings.HasPrefix(stat[strings.LastIndexByte(stat, ')')+1:], " Z ") {
				continue
			}
			if pid, err := strconv.Atoi(child); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
