package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cpulist"
)

// Thread is a thread as the host sees it.
type Thread struct {
	PID, TID int
	Name     string
	// CPU is the only one that it may use; -1 if it may use several.
	CPU int
	// Slept is how often it has gone to sleep so far: a thread that polls never does.
	Slept int64
	// inner is its TID in its own PID namespace.
	inner int
}

// FindThread finds the thread with this name and this TID in its own PID namespace, in the process
// pid or its descendants: an engine in a container does not know its TID on the host. The engine of a
// node without a PID namespace is no descendant of the node's first process, but shares its TIDs.
func FindThread(pid, tid int, name string) (Thread, error) {
	for _, process := range Descendants("/", pid) {
		for _, t := range Threads(process) {
			if t.inner == tid && t.Name == name {
				return t, nil
			}
		}
	}
	if t, ok := ThreadOf(tid); ok && t.Name == name && namespace(pid, "pid") == namespace(t.PID, "pid") {
		return t, nil
	}
	return Thread{}, fmt.Errorf("no thread %d (%s) of process %d was found", tid, name, pid)
}

// Threads returns those of a process; none if it has ended.
func Threads(pid int) []Thread {
	var list []Thread
	folder := filepath.Join("/proc", strconv.Itoa(pid), "task")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name(), "status"))
		if err != nil {
			continue
		}
		if t, ok := parseStatus(string(text)); ok {
			t.PID = pid
			list = append(list, t)
		}
	}
	return list
}

// ThreadOf returns the thread with a TID; false if it has ended.
func ThreadOf(tid int) (Thread, bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(tid), "status"))
	if err != nil {
		return Thread{}, false
	}
	return parseStatus(string(text))
}

// ThreadsIn returns the threads of the programs in network namespaces, each with the name that its namespace has, but not
// those of nines.
func ThreadsIn(spaces map[uint32]string) map[string][]Thread {
	list := make(map[string][]Thread)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return list
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		name, ours := spaces[NetNamespace(pid)]
		if !ours || (Thread{PID: pid}).OfKernel() {
			continue
		}
		for _, t := range Threads(pid) {
			if !strings.HasPrefix(t.Name, "nines-") {
				list[name] = append(list[name], t)
			}
		}
	}
	return list
}

// OfKernel reports whether it is a thread of the kernel, which has no program.
func (t Thread) OfKernel() bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(t.PID), "cmdline"))
	return err == nil && len(text) == 0
}

// parseStatus reads /proc/PID/task/TID/status (proc_pid_status(5)).
func parseStatus(text string) (Thread, bool) {
	t := Thread{CPU: -1}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch value = strings.TrimSpace(value); key {
		case "Name":
			t.Name = value
		case "Tgid":
			t.PID, _ = strconv.Atoi(value)
		case "Pid":
			t.TID, _ = strconv.Atoi(value)
		case "NSpid":
			// The host's TID first, its own last.
			if numbers := strings.Fields(value); len(numbers) > 0 {
				t.inner, _ = strconv.Atoi(numbers[len(numbers)-1])
			}
		case "voluntary_ctxt_switches":
			t.Slept, _ = strconv.ParseInt(value, 10, 64)
		case "Cpus_allowed_list":
			if cpus, err := cpulist.Parse(value); err == nil && len(cpus) == 1 {
				t.CPU = cpus[0]
			}
		}
	}
	return t, t.TID > 0
}

// Descendants returns a process and all its descendants, on the machine whose files are at root. It
// looks at all processes.
func Descendants(root string, pid int) []int {
	parents := make(map[int]int)
	entries, err := os.ReadDir(filepath.Join(root, "proc"))
	if err != nil {
		return []int{pid}
	}
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, "proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		// "PID (name) state parent": the name may hold any character.
		end := strings.LastIndexByte(string(text), ')')
		if fields := strings.Fields(string(text[end+1:])); end > 0 && len(fields) > 1 {
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	list := []int{pid}
	for i := 0; i < len(list); i++ {
		var children []int
		for child, parent := range parents {
			if parent == list[i] && !slices.Contains(list, child) {
				children = append(children, child)
			}
		}
		slices.Sort(children)
		list = append(list, children...)
	}
	return list
}

// NetNamespace is the number of a process's network namespace, as in device records; 0 if it has
// ended.
func NetNamespace(pid int) uint32 { return namespace(pid, "net") }

// namespace is the number of a process's namespace of a kind; 0 if it has ended.
func namespace(pid int, kind string) uint32 {
	var status unix.Stat_t
	if unix.Stat(filepath.Join("/proc", strconv.Itoa(pid), "ns", kind), &status) != nil {
		return 0
	}
	return uint32(status.Ino)
}
