package setting

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/journal"
)

// settingFile is what a step sets: a file's text, or whether a controller is in a control
// group's list of controllers.
type settingFile struct{ path, controller string }

func settingOf(step journal.Step) settingFile {
	f := settingFile{path: step.Path}
	if filepath.Base(step.Path) == "cgroup.subtree_control" {
		f.controller = strings.TrimLeft(step.Value, "+-")
	}
	return f
}

// key is the file's name in a ledger.
func (f settingFile) key() string {
	if f.controller == "" {
		return f.path
	}
	return f.path + " " + f.controller
}

// read returns the text, or for a controller the word that would restore its current state.
func (f settingFile) read() (string, error) {
	if f.controller == "" {
		return Read(f.path)
	}
	text, err := os.ReadFile(f.path)
	if err != nil {
		return "", err
	}
	if slices.Contains(strings.Fields(string(text)), f.controller) {
		return "+" + f.controller, nil
	}
	return "-" + f.controller, nil
}

func (f settingFile) write(value string) error { return Write(f.path, value) }

func (f settingFile) same(a, b string) bool { return Same(f.path, a, b) }

// usedBy names a control group that others have limited through the controller. The group
// would silently lose the limit with the controller (css_killed_work_fn in
// kernel/cgroup/cgroup.c drops the group's state).
func (f settingFile) usedBy() string {
	if f.controller == "" {
		return ""
	}
	groups, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return ""
	}
	for _, group := range groups {
		if group.IsDir() && f.limits(filepath.Join(filepath.Dir(f.path), group.Name())) {
			return "control group " + group.Name()
		}
	}
	return ""
}

// unlimited is true for a new group's limits (Documentation/admin-guide/cgroup-v2.rst). For
// cpuset, 0 is a CPU.
func (f settingFile) unlimited(text string) bool {
	switch text {
	case "", "member":
		return true
	case "0", "max":
		return f.controller != "cpuset"
	}
	return false
}

// limits is true for a group with a limit of the controller.
func (f settingFile) limits(group string) bool {
	files, err := filepath.Glob(filepath.Join(group, f.controller+".*"))
	if err != nil {
		return false
	}
	for _, file := range files {
		info, err := os.Stat(file)
		// Counts and events can only be read; memory.reclaim can only be written.
		if err != nil || info.Mode().Perm()&0o200 == 0 || info.Mode().Perm()&0o400 == 0 || !limiting(filepath.Base(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		if err == nil && !f.unlimited(strings.TrimSpace(string(text))) {
			return true
		}
	}
	return false
}

// limiting is true for the files that hold limits of the controllers that labs use, not for
// events and the like.
func limiting(name string) bool {
	switch _, file, _ := strings.Cut(name, "."); file {
	case "cpus", "cpus.exclusive", "mems", "cpus.partition", "min", "low", "high", "max", "swap.max", "swap.high", "zswap.max":
		return true
	}
	return strings.HasPrefix(name, "hugetlb.") && strings.HasSuffix(name, ".max")
}
