package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cgroup"
)

// Inode is the inode of a path itself, not of what it links to; 0 if it is absent.
func Inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}

// replaced is true if path is not what the step made.
func (h Host) replaced(entry Entry) bool {
	if entry.Learnt == nil || entry.Learnt.Inode == 0 {
		return false
	}
	now := Inode(entry.Path)
	if now != 0 && now != entry.Learnt.Inode {
		h.note("%s was replaced by somebody else; left alone", entry.Path)
		return true
	}
	return false
}

func (h Host) removeDirectory(entry Entry) error {
	if h.replaced(entry) {
		return nil
	}
	err := unix.Rmdir(entry.Path)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOTDIR):
		// Others use it by now.
		return nil
	}
	return err
}

func removeTree(entry Entry) error { return os.RemoveAll(entry.Path) }

func (h Host) removeFile(entry Entry) error {
	if h.replaced(entry) {
		return nil
	}
	return absentIsFine(os.Remove(entry.Path))
}

func (h Host) removeSymlink(entry Entry) error {
	target, err := os.Readlink(entry.Path)
	if err != nil {
		return absentIsFine(err)
	}
	if target != entry.Target {
		h.note("%s leads elsewhere by now; left alone", entry.Path)
		return nil
	}
	return absentIsFine(os.Remove(entry.Path))
}

func (h Host) removeMount(entry Entry) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(mounts), "\n") {
		// proc(5): id, parent, device, root, mount point, …
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == entry.Path {
			return unix.Unmount(entry.Path, unix.MNT_DETACH)
		}
	}
	return nil
}

// cgroupPatience is how long a control group may stay busy after its last process
// has ended; the kernel takes it out a moment later.
const cgroupPatience = 5 * time.Second

func removeCgroup(entry Entry) error {
	if entry.Path != "" {
		return removeCgroupTree(entry.Path)
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	var failures []error
	for _, h := range hierarchies {
		failures = append(failures, removeCgroupTree(filepath.Join(h.Mount, entry.Name)))
	}
	return errors.Join(failures...)
}

func removeCgroupTree(path string) error {
	var dirs []string
	err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(cgroupPatience); len(dirs) > 0; {
		last := dirs[len(dirs)-1]
		err := unix.Rmdir(last)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			dirs = dirs[:len(dirs)-1]
		case errors.Is(err, unix.EBUSY) && time.Now().Before(deadline):
			time.Sleep(2 * time.Millisecond)
		default:
			return fmt.Errorf("remove %s: %w", last, err)
		}
	}
	return nil
}

func absentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
