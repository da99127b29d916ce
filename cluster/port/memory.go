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

// KindMemory is a file system in memory, at Path, in which pods make the sockets that they share memory
// through. Each port has its own small one, because pods can write to it.
var KindMemory = journal.Register("port memory", journal.Undo{Step: removeMemory})

// MemoryParent is the parent of the ports that pods share: the node's memory.
const MemoryParent = "memory"

const (
	// memoryFolder is the keeper's folder for these file systems. It has a folder for each port, where the
	// file system is mounted as memoryName. So pods cannot write where the keeper looks for records.
	memoryFolder = ".memory"
	memoryName   = "shared"
	// memorySource is the source in /proc/mounts, by which nines recognizes its mounts.
	memorySource = "nines-port"
	// memoryOptions leave room for sockets of any user, which need no pages, and for nothing else.
	memoryOptions = "mode=1777,size=64k,nr_inodes=16"
)

// takeMemory makes a folder in which pods make sockets. Only the pods know which of them listens.
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

// memoryAt tells whether such a file system is mounted at path. It is an error if another program has mounted
// something there.
func memoryAt(path string) (bool, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != path, false })
	for _, m := range mounts { // in no order
		if m.FSType != "tmpfs" || m.Source != memorySource {
			return false, fmt.Errorf("another program has mounted %s (%s) at %s; unmount it", m.Source, m.FSType, path)
		}
	}
	return len(mounts) > 0, err
}

// restoreMemory checks that the file system of a port is still mounted.
func restoreMemory(_ context.Context, s site, _ *Held) error {
	there, err := memoryAt(s.sockets)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("port %s: another program has unmounted %s; delete the pods that have the port, so that they get another one", s.Port.Name, s.sockets)
	}
	return nil
}

// removeMemory unmounts the file system, and removes the folders that it was in. Pods that have mounted it
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
			u.Notef("%s is left as it is: another program unmounted it and wrote into the folder", folder)
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(own)) // if it is empty
	return nil
}
