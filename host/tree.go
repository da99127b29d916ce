package host

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/pci"
)

// Tree is the part of a machine that describes it: /proc, /sys and a few files beside them,
// and what only a call of the kernel or a program can tell.
type Tree interface {
	pci.Tree
	// Output runs a tool for its version and gives what it prints on stdout.
	Output(argv ...string) (string, error)
	// Program finds a program in PATH; empty if it is not there.
	Program(name string) string
	// Running gives those of the names that a running process has, sorted.
	Running(names []string) []string
	// ethtool.Coalescing asks an interface for its interrupt moderation.
	Coalescing(nic string) (ethtool.Coalescing, error)
}

// toolTimeout is how long a tool may take to print its version; the tools that we ask take
// some milliseconds.
const toolTimeout = 5 * time.Second

// dirTree is the Tree of the machine whose files are in a folder: "/" for this one.
type dirTree struct{ files.Dir }

func (t dirTree) Output(argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	return string(out), err
}

func (t dirTree) Program(name string) string {
	found, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return found
}

// Running looks at all processes, but returns only the names asked for.
func (t dirTree) Running(names []string) []string {
	found := map[string]bool{}
	processes, _ := t.ReadDir("/proc")
	for _, pid := range processes {
		if pid[0] < '0' || pid[0] > '9' {
			continue
		}
		if name := files.Text(t, "/proc/"+pid+"/comm"); slices.Contains(names, name) {
			found[name] = true
		}
	}
	return sortedNames(found)
}

func (t dirTree) VFSettings(nic string) ([]VFSettings, error) { return pci.ReadVFSettings(nic) }

func (t dirTree) Coalescing(nic string) (ethtool.Coalescing, error) {
	socket, err := ethtool.Open()
	if err != nil {
		return ethtool.Coalescing{}, err
	}
	defer socket.Close()
	return socket.Coalescing(nic)
}

// cpuList reads a file in the kernel's list format. A file that is absent, or says "(null)"
// as nohz_full does when off, is the empty list.
func cpuList(t Tree, path string) []int {
	list, err := cpulist.Parse(files.Text(t, path))
	if err != nil {
		return []int{}
	}
	return list
}

// field finds "key: value" in a file of such lines.
func field(content, key string) string {
	for line := range strings.SplitSeq(content, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
