package isolate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
)

// busyError are the directories of control groups that cannot be removed, as something is in them.
type busyError []string

func (busyError) Unwrap() error { return unix.EBUSY }

// keeps is true for a group with one below it that is busy.
func (b busyError) keeps(dir string) bool {
	return slices.ContainsFunc(b, func(one string) bool { return strings.HasPrefix(one, dir+"/") })
}

// Error names the processes in the groups. With version 1 the same ones are in a group of each hierarchy.
func (b busyError) Error() string {
	var order []string
	groups := map[string][]string{}
	for _, dir := range b {
		who := occupants(dir)
		if groups[who] == nil {
			order = append(order, who)
		}
		groups[who] = append(groups[who], dir)
	}
	var parts []string
	for _, who := range order {
		where := groups[who][0]
		if more := len(groups[who]) - 1; more > 0 {
			where += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, who+" in "+where)
	}
	return strings.Join(parts, "; ") + "; end what is there, and try again"
}

// named bounds how many processes of a group are named.
const named = 8

// occupants are the processes in a group, as words.
func occupants(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // a threaded group's processes are in the one above it
	pids := strings.Fields(string(text))
	var words []string
	for _, pid := range pids[:min(len(pids), named)] {
		number, err := strconv.Atoi(pid)
		switch {
		case err != nil:
		case number == 0:
			words = append(words, "a process of another PID namespace") // cgroup_procs_show, kernel/cgroup/cgroup.c
		default:
			words = append(words, fmt.Sprintf("%d (%s)", number, proc.Identity{PID: number}.Command()))
		}
	}
	if more := len(pids) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	switch len(pids) {
	case 0:
		return "no process, but something that the kernel counts,"
	case 1:
		return "process " + words[0]
	}
	return "processes " + strings.Join(words, ", ")
}
