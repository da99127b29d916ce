package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Tree is the part of a machine's file system that describes it: /proc, /sys and
// a few files beside them. Paths are absolute.
type Tree interface {
	ReadFile(path string) ([]byte, error)
	// ReadDir gives the names in a directory, sorted.
	ReadDir(path string) ([]string, error)
	// ReadLink gives a symbolic link's target as written.
	ReadLink(path string) (string, error)
	Exists(path string) bool
	// Output runs a tool for its version and gives what it prints on stdout.
	Output(argv ...string) (string, error)
	// Program finds a program in PATH; empty if it is not there.
	Program(name string) string
	// Running gives those of the names that a running process has, sorted.
	Running(names []string) []string
	// Coalescing asks an interface for its interrupt moderation.
	Coalescing(nic string) (Coalescing, error)
	// VFSettings asks a physical function's interface for the settings of its virtual
	// functions.
	VFSettings(nic string) ([]VFSettings, error)
}

// toolTimeout is how long a tool may take to print its version; the tools that we ask take
// some milliseconds.
const toolTimeout = 5 * time.Second

// dirTree is a Tree under a directory: "/" for this machine.
type dirTree struct{ root string }

func (t dirTree) path(p string) string { return filepath.Join(t.root, p) }

func (t dirTree) ReadFile(p string) ([]byte, error) { return os.ReadFile(t.path(p)) }

func (t dirTree) ReadDir(p string) ([]string, error) {
	entries, err := os.ReadDir(t.path(p))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	sort.Strings(names)
	return names, nil
}

func (t dirTree) ReadLink(p string) (string, error) { return os.Readlink(t.path(p)) }

func (t dirTree) Exists(p string) bool {
	_, err := os.Stat(t.path(p))
	return err == nil
}

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
		if name := text(t, "/proc/"+pid+"/comm"); slices.Contains(names, name) {
			found[name] = true
		}
	}
	return sortedNames(found)
}

func (t dirTree) VFSettings(nic string) ([]VFSettings, error) { return ReadVFSettings(nic) }

func (t dirTree) Coalescing(nic string) (Coalescing, error) { return readCoalescing(nic) }

// text reads a file without surrounding white space. For a file that cannot be read it
// returns the empty string, which all callers take as unknown.
func text(t Tree, path string) string {
	data, err := t.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number reads a file that holds one integer.
func number(t Tree, path string) (int64, bool) {
	n, err := strconv.ParseInt(text(t, path), 10, 64)
	return n, err == nil
}

// intOr reads a file that holds one integer; otherwise is the value if it cannot be read.
func intOr(t Tree, path string, otherwise int) int {
	if n, ok := number(t, path); ok {
		return int(n)
	}
	return otherwise
}

// cpuList reads a file in the kernel's list format. A file that is absent, or says "(null)"
// as nohz_full does when off, is the empty list.
func cpuList(t Tree, path string) []int {
	list, err := ParseCPUList(text(t, path))
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
