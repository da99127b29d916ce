package napi_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/napi"
)

// TestADeviceOfAContainerCanBeChanged: its runtime has mounted /sys read-only, and so it stays.
func TestADeviceOfAContainerCanBeChanged(t *testing.T) {
	inPair(t, func(t *testing.T) {
		fs, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fs)
		if err := errors.Join(unix.FsconfigSetFlag(fs, "ro"), unix.FsconfigCreate(fs)); err != nil {
			t.Fatal(err)
		}
		dir, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(dir)
		write(t, napi.Attribute("gro_flush_timeout"), "20000")
		write(t, napi.Attribute("gro_flush_timeout"), "0")
		for range 2 { // by its mount, and by another
			if _, err := unix.Openat(dir, "class/net/two/gro_flush_timeout", unix.O_WRONLY|unix.O_CLOEXEC, 0); !errors.Is(err, unix.EROFS) {
				t.Errorf("/sys of the container is writable by now: %v", err)
			}
			other, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(other)
			if err := unix.FsconfigCreate(other); err != nil {
				t.Fatal(err)
			}
			if dir, err = unix.Fsmount(other, unix.FSMOUNT_CLOEXEC, 0); err != nil {
				t.Fatal(err)
			}
			defer unix.Close(dir)
		}
	})
}
