package port

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
)

// KindMemory is a file system in memory, at Path, in which pods make the sockets by which they share
// memory. It is a small one of its own: pods write there.
var KindMemory = journal.Register("port memory", journal.Undo{Step: removeMemory})

// MemoryParent stands for the node's memory, as the parent of ports that pods share.
const MemoryParent = "memory"

const (
	// memoryFolder is the keeper's folder with these file systems, and memoryName the name of each in
	// the folder of its port's name. So nothing that a pod writes is where the keeper looks for records.
	memoryFolder = ".memory"
	memoryName   = "shared"
	// memorySource is what /proc/mounts says of who made it.
	memorySource = "nines-port"
	// memoryOptions have room for sockets of any user, which need no pages, and for nothing else.
	memoryOptions = "mode=1777,size=64k,nr_inodes=16"
)

// takeMemory makes a folder in which pods make sockets. Only they know which of them listens.
func takeMemory(_ context.Context, s site, _ *Held) error {
	return s.journal.Make(journal.Step{Kind: KindMemory, Name: s.Port.Name, Path: s.sockets}, func() (learnt journal.Learnt, err error) {
		if err := os.MkdirAll(s.sockets, 0o700); err != nil {
			return learnt, err
		}
		if err := unix.Mount(memorySource, s.sockets, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, memoryOptions); err != nil {
			return learnt, &fs.PathError{Op: "mount", Path: s.sockets, Err: err}
		}
		return learnt, nil
	})
}

// memoryAt tells whether one of these file systems is at a path. What somebody else has mounted there is
// an error.
func memoryAt(path string) (bool, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != path, false })
	for _, m := range mounts { // in no order
		if m.FSType != "tmpfs" || m.Source != memorySource {
			return false, fmt.Errorf("somebody has mounted %s (%s) at %s; unmount that", m.Source, m.FSType, path)
		}
	}
	return len(mounts) > 0, err
}

// restoreMemory looks whether the file system of a port is there.
func restoreMemory(_ context.Context, s site, _ *Held) error {
	there, err := memoryAt(s.sockets)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("port %s: somebody has unmounted %s; delete the pods that have the port, so that they get another", s.Port.Name, s.sockets)
	}
	return nil
}

// removeMemory unmounts the file system, and removes the folders that it was in. Pods that have it
// keep it until they end.
func removeMemory(_ context.Context, u journal.Undoing) error {
	there, err := memoryAt(u.Path)
	if err != nil {
		return err
	}
	if there {
		if err := unix.Unmount(u.Path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &fs.PathError{Op: "unmount", Path: u.Path, Err: err}
		}
	}
	own := filepath.Dir(u.Path)
	for _, folder := range []string{u.Path, own} {
		err := os.Remove(folder)
		if errors.Is(err, unix.ENOTEMPTY) {
			u.Notef("left %s: somebody wrote there after he had unmounted it", folder)
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(own)) // where it is empty
	return nil
}
