package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reapOrphans takes the exit codes of processes whose parents have died. Those that
// the agent started are its own to wait for, so that only what has been dead for a
// whole interval is taken: the agent waits at once.
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

// zombies are this process's children that have ended.
func zombies() []int {
	var pids []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// proc_pid_stat(5): the name is in brackets, and may hold any character.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[0] == "Z" && fields[1] == "1" {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
