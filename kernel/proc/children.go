package proc

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Child is the process that the first thread of a process has started, if it is the only one; otherwise the process
// itself, also where the kernel does not list them (CONFIG_PROC_CHILDREN).
func (id Identity) Child() Identity {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", id.PID))
	pids := strings.Fields(string(text))
	if len(pids) != 1 {
		return id
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		return id
	}
	child, err := Of(pid)
	if err != nil {
		return id
	}
	return child
}
