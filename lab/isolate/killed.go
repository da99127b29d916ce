package isolate

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
)

// memoryKills are the files of a control group that count whom the kernel has killed there as memory had run out, by
// version (mem_cgroup_oom_control_read and __memory_events_show in mm/memcontrol.c).
var memoryKills = map[int]string{1: "memory.oom_control", 2: "memory.events"}

// MemoryKills is how many processes of a node the kernel has killed as memory had run out; 0 where it does not say: the
// node has no control group of its own, or that went with its processes.
func MemoryKills(p *plan.Plan, n plan.Node) int {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return 0
	}
	most := 0
	for _, h := range hierarchies {
		text, err := os.ReadFile(filepath.Join(h.Mount, Parent(p, n), n.HostName, memoryKills[h.Version]))
		if err == nil {
			most = max(most, memoryKillsIn(text))
		}
	}
	return most
}

// memoryKillsIn reads the line oom_kill. It is pure.
func memoryKillsIn(text []byte) int {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if count, is := strings.CutPrefix(lines.Text(), "oom_kill "); is {
			n, _ := strconv.Atoi(count)
			return n
		}
	}
	return 0
}
