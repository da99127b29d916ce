package node

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/thread"
)

// inMountNamespace calls f on a thread with a mount namespace of its own, which what f starts
// inherits. The thread ends with it. What is mounted or unmounted on the host later shows in the
// namespace, but not the other way: it holds nothing that the host lets go.
func inMountNamespace(f func() error) error {
	return thread.Ending(func() error {
		// The folders and umask of threads are shared; a namespace of mounts has its own.
		if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
			return fmt.Errorf("isolate mounts from the host: %w", err)
		}
		return f()
	})
}

// mountOverlay mounts a read-only tree with a layer of changes (filesystems/overlayfs.rst). It uses
// the calls of Linux 5.2, whose options are no text with commas.
func mountOverlay(target, lower, changes, work string) error {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open the file system overlay: %w", err)
	}
	defer unix.Close(fs)
	plain := strings.NewReplacer(`\`, `\\`)
	for _, option := range []struct{ key, value string }{
		{"source", "nines"},
		{"lowerdir", strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(lower)},
		{"upperdir", plain.Replace(changes)}, {"workdir", plain.Replace(work)},
		// With an index the changes would fit only the very files that they were first mounted over,
		// and an image may be unpacked again while its node is stopped.
		{"index", "off"},
	} {
		if err := unix.FsconfigSetString(fs, option.key, option.value); err != nil {
			return fmt.Errorf("overlay: %s %s: %w", option.key, option.value, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return fmt.Errorf("make an overlay of %s and %s: %w", lower, changes, err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fsmount", err)
	}
	defer unix.Close(mount)
	if err := unix.MoveMount(mount, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount at %s: %w", target, err)
	}
	return nil
}
