package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/cgroup"
)

// KindCgroup is a control group's directory, Path, with all below it; without a Path it is the
// directory Name in every hierarchy.
var KindCgroup = journal.Register("cgroup", journal.Undo{Step: removeGroup})

// Taken returns the existing control group with a name, in any hierarchy; empty if there is none.
func Taken(name string) (string, error) {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return "", err
	}
	for _, h := range hierarchies {
		path := filepath.Join(h.Mount, name)
		if inode, err := journal.Inode(path); inode != 0 || err != nil {
			return path, err
		}
	}
	return "", nil
}

// Reserve journals control groups that nines or LXC will make, in any hierarchy, for a node or the
// whole lab.
func Reserve(j *journal.Journal, node string, names ...string) error {
	for _, name := range names {
		path, err := Taken(name)
		if err != nil {
			return err
		}
		if path != "" {
			return fmt.Errorf("control group %s already exists and is not ours; set another prefix in the file", path)
		}
		if _, err := j.Begin(journal.Step{Kind: KindCgroup, Name: name, Node: node}); err != nil {
			return err
		}
	}
	return nil
}

func removeGroup(ctx context.Context, u journal.Undoing) error {
	paths := []string{u.Path}
	if u.Path == "" {
		hierarchies, err := cgroup.Mounted()
		if err != nil {
			return err
		}
		paths = nil
		for _, h := range hierarchies {
			paths = append(paths, filepath.Join(h.Mount, u.Name))
		}
	}
	var failures []error
	err := u.Await(ctx, await.Condition{
		What: "the control group is not busy", Every: 2 * time.Millisecond, UpTo: 50 * time.Millisecond,
		Holds: func(context.Context) error {
			var busy busyError
			failures = nil
			for _, path := range paths { // all, also if one is busy: they wait together
				failures = append(failures, removeTree(path, &busy))
			}
			if len(busy) > 0 {
				return busy
			}
			return nil
		},
	})
	return errors.Join(append(failures, err)...)
}

// removeTree removes a group with all below it, except those that are busy, and those above them.
func removeTree(path string, busy *busyError) error {
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
	for _, dir := range slices.Backward(dirs) { // those below a group first
		if busy.keeps(dir) {
			continue
		}
		if err := endPartition(dir); err != nil {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
		switch err := unix.Rmdir(dir); {
		case errors.Is(err, unix.EBUSY):
			*busy = append(*busy, dir)
		case err != nil && !errors.Is(err, unix.ENOENT):
			return fmt.Errorf("remove %s: %w", dir, err)
		}
	}
	return nil
}

// endPartition gives a partition's CPUs back to the others, and returns when they have them.
// Removing the group does so too, but some time later (cpuset_css_offline in
// kernel/cgroup/cpuset.c): a lab that is made at once would take the threads' CPUs of that moment
// for their own, and restore those.
//
// The kernel's refusal of the word is no reason to keep the group: its removal ends the partition, too.
func endPartition(dir string) error {
	path := filepath.Join(dir, partitionFile)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no partition, or no group
	}
	if err != nil {
		return err
	}
	_, _ = file.WriteString("member")
	return file.Close()
}
