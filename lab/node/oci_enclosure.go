package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ofManagers are folders of /run that managers of containers and their runtimes use, whatever their
// options say: containerd's shims have their sockets there, and podman's runtime its state.
var ofManagers = []string{
	"containerd", "docker", "docker.sock", "docker.pid", "containers", "libpod", "podman", "runc", "crun", "crio",
}

// enclose lets the calling thread, which has a mount namespace, see the host's files but write none
// of those that managers of containers share: /run and /dev/shm have nothing of theirs, /etc takes
// its changes to folder, and the settings of the kernel are read-only and its security modules not to
// be seen. All of it ends with the last
// process in the namespace, so there is nothing to undo.
func enclose(folder string) error {
	changes, work, run := filepath.Join(folder, "etc"), filepath.Join(folder, "etc-work"), filepath.Join(folder, "run")
	for _, dir := range []string{changes, work, run} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := mountOverlay("/etc", "/etc", changes, work); err != nil {
		return err
	}
	if err := unix.Mount("shm", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mount at /dev/shm: %w", err)
	}
	if err := ownRun(run); err != nil {
		return err
	}
	// Docker and podman would load profiles of AppArmor into the kernel.
	if err := unix.Mount("none", "/sys/kernel/security", "tmpfs", unix.MS_RDONLY, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("mount at /sys/kernel/security: %w", err)
	}
	const settings = "/proc/sys"
	if err := unix.Mount(settings, settings, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount at %s: %w", settings, err)
	}
	if err := unix.Mount("", settings, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", settings, err)
	}
	return nil
}

// ownRun makes a /run that has what the host's has now, but for what managers use. An overlay would
// not do, as the sockets of its lower layer cannot be connected to.
func ownRun(fresh string) error {
	const run = "/run"
	if err := unix.Mount("run", fresh, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount at %s: %w", fresh, err)
	}
	entries, err := os.ReadDir(run)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(ofManagers, e.Name()) {
			continue
		}
		err := showIn(fresh, run, e)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be gone now
			return fmt.Errorf("show %s to the driver: %w", filepath.Join(run, e.Name()), err)
		}
	}
	if err := unix.Mount(fresh, run, "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("mount at %s: %w", run, err)
	}
	return nil
}

// showIn shows an entry of a folder in another one.
func showIn(folder, of string, e fs.DirEntry) error {
	source, target := filepath.Join(of, e.Name()), filepath.Join(folder, e.Name())
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		leads, err := os.Readlink(source)
		if err != nil {
			return err
		}
		return os.Symlink(leads, target)
	case e.IsDir():
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			return err
		}
	}
	return unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
}
