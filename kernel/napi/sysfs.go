package napi

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// sysfs calls f with an open /sys of the calling thread's network namespace, without
// mounting it anywhere (fsopen(2), Linux 5.2): a mounted one shows the namespace in which
// it was mounted, and a container's is often read-only.
func sysfs(f func(dir int) error) error {
	fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open sysfs: %w", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return fmt.Errorf("open sysfs: %w", err)
	}
	dir, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open sysfs: %w", err)
	}
	defer unix.Close(dir)
	return f(dir)
}

// ReadAttribute reads a file of a device below /sys/class/net, such as "threaded".
func ReadAttribute(device, attribute string) (string, error) {
	var text []byte
	err := atAttribute(device, attribute, unix.O_RDONLY, func(file *os.File) error {
		text = make([]byte, 4096) // a sysfs file has at most one page
		n, err := file.Read(text)
		text = text[:n]
		return err
	})
	return strings.TrimSpace(string(text)), err
}

// WriteAttribute writes such a file.
//
//	echo VALUE > /sys/class/net/DEVICE/ATTRIBUTE
func WriteAttribute(device, attribute, value string) error {
	return atAttribute(device, attribute, unix.O_WRONLY, func(file *os.File) error {
		_, err := file.WriteString(value)
		return err
	})
}

func atAttribute(device, attribute string, mode int, f func(*os.File) error) error {
	name := path.Join("class/net", device, attribute)
	if strings.Contains(device, "/") || strings.Contains(device, "..") {
		return fmt.Errorf("%q is not a device's name", device)
	}
	return sysfs(func(dir int) error {
		fd, err := unix.Openat(dir, name, mode|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EROFS) && remount(dir, "rw") == nil {
			// The runtime of a container mounts it so, which makes it so for everyone in the namespace.
			// The container's own mount stays read-only besides.
			defer func() { _ = remount(dir, "ro") }() // another program that writes just now keeps it writable
			fd, err = unix.Openat(dir, name, mode|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			return fmt.Errorf("/sys/%s: %w", name, err)
		}
		file := os.NewFile(uintptr(fd), name)
		if err := errors.Join(f(file), file.Close()); err != nil {
			return fmt.Errorf("/sys/%s: %w", name, err)
		}
		return nil
	})
}

// remount has a file system be "ro" or "rw" in each of its mounts (fspick(2), Linux 5.2).
func remount(dir int, how string) error {
	fs, err := unix.Fspick(dir, "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	if err := unix.FsconfigSetFlag(fs, how); err != nil {
		return err
	}
	return unix.FsconfigReconfigure(fs)
}
