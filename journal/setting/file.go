package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

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

// key returns the file's name in a ledger.
func (f settingFile) key() string {
	if f.controller == "" {
		return f.path
	}
	return f.path + " " + f.controller
}

// read returns the file's text, or for a controller the word that restores its current state.
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

// usedBy names a control group that another program has limited through the controller. Without
// the controller, the group would silently lose the limit (css_killed_work_fn in
// kernel/cgroup/cgroup.c drops the group's state). A group that cannot be read may have a limit.
func (f settingFile) usedBy() (string, error) {
	if f.controller == "" {
		return "", nil
	}
	groups, err := os.ReadDir(filepath.Dir(f.path))
	if isAbsent(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("search for control groups that use the controller %s: %w", f.controller, err)
	}
	for _, group := range groups {
		if !group.IsDir() {
			continue
		}
		limits, err := f.limits(filepath.Join(filepath.Dir(f.path), group.Name()))
		if err != nil {
			return "", fmt.Errorf("check whether control group %s uses the controller %s: %w", group.Name(), f.controller, err)
		}
		if limits {
			return "control group " + group.Name(), nil
		}
	}
	return "", nil
}

// isAbsent returns true for the errors of a control group that was removed, even while it was being
// read: a file that is still open then has no device (kernfs_fop_read_iter in fs/kernfs/file.c).
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV)
}

// unlimited returns true for the limits of a new group (Documentation/admin-guide/cgroup-v2.rst).
// For cpuset, 0 is a CPU.
func (f settingFile) unlimited(text string) bool {
	switch text {
	case "", "member":
		return true
	case "0", "max":
		return f.controller != "cpuset"
	}
	return false
}

// limits returns true for a group with a limit of the controller.
func (f settingFile) limits(group string) (bool, error) {
	files, err := os.ReadDir(group)
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), f.controller+".") || !limiting(file.Name()) {
			continue
		}
		limits, err := f.isLimit(filepath.Join(group, file.Name()))
		if limits || err != nil {
			return limits, err
		}
	}
	return false, nil
}

// isLimit returns true for the file of a limit that has been set.
func (f settingFile) isLimit(path string) (bool, error) {
	info, err := os.Stat(path)
	// Counts and events can only be read; memory.reclaim can only be written.
	if err == nil && (info.Mode().Perm()&0o200 == 0 || info.Mode().Perm()&0o400 == 0) {
		return false, nil
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	switch {
	case isAbsent(err), errors.Is(err, unix.EOPNOTSUPP): // this group does not support it
		return false, nil
	case err != nil:
		return false, err
	}
	return !f.unlimited(strings.TrimSpace(string(text))), nil
}

// limiting returns true for the files that hold limits of the controllers that labs use, but not
// for events and the like.
func limiting(name string) bool {
	switch _, file, _ := strings.Cut(name, "."); file {
	case "cpus", "cpus.exclusive", "mems", "cpus.partition", "min", "low", "high", "max", "swap.max", "swap.high", "zswap.max":
		return true
	}
	return strings.HasPrefix(name, "hugetlb.") && strings.HasSuffix(name, ".max")
}
