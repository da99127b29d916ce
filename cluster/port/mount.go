package port

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
)

// mountSource is the source in /proc/mounts, by which nines recognizes its mounts.
const mountSource = "nines-port"

// mount mounts a new file system at path, and makes the folder.
func mount(path, kind, options string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if err := unix.Mount(mountSource, path, kind, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return &fs.PathError{Op: "mount", Path: path, Err: err}
	}
	return nil
}

// mounted reports whether such a file system is mounted at path. It is an error if another program has mounted
// something there.
func mounted(path, kind string) (bool, error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return m.Mountpoint != path, false })
	for _, m := range mounts { // in no order
		if m.FSType != kind || m.Source != mountSource {
			return false, fmt.Errorf("another program has mounted %s (%s) at %s; unmount it", m.Source, m.FSType, path)
		}
	}
	return len(mounts) > 0, err
}

// stillMounted is an error if another program has unmounted a port's file system: the pods that have it mounted keep
// it, and no new container gets it.
func (s site) stillMounted(path, kind string) error {
	there, err := mounted(path, kind)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("port %s: another program has unmounted %s; delete the pods that have the port, so that they get another one", s.Port.Name, path)
	}
	return nil
}

// unmount unmounts such a file system, if it is there. Pods that have it mounted keep it until they end.
func unmount(path, kind string) error {
	there, err := mounted(path, kind)
	if err != nil {
		return err
	}
	if there {
		if err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return &fs.PathError{Op: "unmount", Path: path, Err: err}
		}
	}
	return nil
}

// removeFolder removes a folder in which a file system was. It leaves what another program has put in its place, or
// into it, and says so.
func removeFolder(u journal.Undoing, folder string) (left bool, err error) {
	err = unix.Rmdir(folder)
	switch {
	case errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR):
		u.Notef("%s is left as it is: another program has put something there", folder)
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, &fs.PathError{Op: "remove", Path: folder, Err: err}
	}
	return false, nil
}
