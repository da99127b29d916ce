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

// patience is how long a control group may stay busy after its last process has ended; the kernel
// removes the process from the group a moment later.
const patience = 5 * time.Second

func removeGroup(_ context.Context, u journal.Undoing) error {
	wait := patience
	if u.Unended {
		wait = 0
	}
	if u.Path != "" {
		return removeTree(u.Path, wait)
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	var failures []error
	for _, h := range hierarchies {
		failures = append(failures, removeTree(filepath.Join(h.Mount, u.Name), wait))
	}
	return errors.Join(failures...)
}

// removeTree removes a group with all below it, and waits for a time until they are no longer busy.
func removeTree(path string, wait time.Duration) error {
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
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	for _, dir := range slices.Backward(dirs) { // those below a group first
		err := await.Until(ctx, await.Condition{What: "it is not busy", Every: 2 * time.Millisecond, Holds: func(context.Context) error {
			if err := endPartition(dir); err != nil {
				return await.Never(err)
			}
			switch err := unix.Rmdir(dir); {
			case errors.Is(err, unix.EBUSY):
				return err
			case !errors.Is(err, unix.ENOENT):
				return await.Never(err)
			}
			return nil
		}})
		if err != nil {
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
