package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/cgroup"
)

// KindLXCTraces is what LXC leaves of a container besides its own files: a lock's file, named after
// the container Name and its LXC path Path, and the control groups "lxc.pivot", into which its
// monitors go to end. Value has the hierarchies that had none before, one per line.
var KindLXCTraces = journal.Register("lxc traces", journal.Undo{Step: removeLXCTraces})

const (
	lxcLocks = "/run/lxc/lock" // lxclock.c of LXC
	lxcPivot = "lxc.pivot"     // cgroups/cgfsng.c of LXC
)

func (p Place) noteLXCTraces(nodeName, hostName string) error {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	var without []string
	for _, h := range hierarchies {
		inode, err := journal.Inode(filepath.Join(h.Mount, lxcPivot))
		if err != nil {
			return err
		}
		if inode == 0 {
			without = append(without, h.Mount)
		}
	}
	_, err = p.Journal.Begin(journal.Step{Kind: KindLXCTraces, Node: nodeName, Path: p.lxcPath(), Name: hostName, Value: strings.Join(without, "\n")})
	return err
}

func removeLXCTraces(_ context.Context, u journal.Undoing) error {
	if u.Unended {
		return errors.New("containers of the lab may still run, and leave these when they end")
	}
	lock := filepath.Join(lxcLocks, u.Path, "."+u.Name)
	if err := unix.Unlink(lock); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("remove %s: %w", lock, err)
	}
	for dir := filepath.Dir(lock); dir != lxcLocks; dir = filepath.Dir(dir) {
		if unix.Rmdir(dir) != nil {
			break // other containers' locks are there, or it is gone
		}
	}
	var failures []error
	for mount := range strings.SplitSeq(u.Value, "\n") {
		if mount != "" {
			failures = append(failures, removePivot(filepath.Join(mount, lxcPivot), u))
		}
	}
	return errors.Join(failures...)
}

// pivotPatience is how long a control group may stay busy after the monitor in it has ended.
const pivotPatience = time.Second

// removePivot removes a control group, unless another container's monitor is in it: that may end after us, or
// be of a container that is not of nines.
func removePivot(path string, u journal.Undoing) error {
	err := await.Until(context.Background(), await.Condition{
		What: "it is not busy", Within: pivotPatience, Every: 2 * time.Millisecond,
		Holds: func(context.Context) error {
			err := unix.Rmdir(path)
			if errors.Is(err, unix.EBUSY) {
				return err
			}
			return await.Never(err)
		},
	})
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	err = fmt.Errorf("remove %s: %w", path, err)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	processes, unread := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if pids := strings.Fields(string(processes)); len(pids) > 0 {
		u.Notef("%s is left, as process %s of another container is in it; rmdir removes it later", path, pids[0])
		return nil
	}
	return errors.Join(err, unread)
}
