package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/vm/boot"
)

// mount is a file system to mount; its folder is created.
type mount struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func (m mount) do() error {
	if err := os.MkdirAll(m.target, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount %s (%s) on %s: %w", m.source, m.kind, m.target, err)
	}
	return nil
}

// mountKernel mounts the kernel's own file systems below a root.
func mountKernel(root string) error {
	const quiet = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
	for _, m := range []mount{
		{"proc", "proc", "proc", quiet, ""},
		{"sysfs", "sys", "sysfs", quiet, ""},
		{"devtmpfs", "dev", "devtmpfs", unix.MS_NOSUID, "mode=755"},
	} {
		m.target = filepath.Join(root, m.target)
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}

// ownPrograms is the folder of nines' own programs in the initramfs of a node.
const ownPrograms = "/nines"

// enterRoot makes a disk the root, read-only below a layer in memory, so that every boot is
// a first boot. The initramfs cannot be pivoted away, and nothing empties it: it takes a
// few MiB.
func enterRoot(disk string) error {
	device, err := findDisk(disk)
	if err != nil {
		return err
	}
	for _, m := range []mount{
		{device, "/lower", "ext4", unix.MS_RDONLY, "noload"},
		{"tmpfs", "/layer", "tmpfs", 0, "mode=755,size=75%"},
	} {
		if err := m.do(); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/layer/upper", "/layer/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	if err := (mount{"overlay", "/root", "overlay", 0, "lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work"}).do(); err != nil {
		return err
	}
	for _, dir := range []string{"proc", "sys", "dev"} {
		if err := os.MkdirAll("/root/"+dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("/"+dir, "/root/"+dir, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move /%s: %w", dir, err)
		}
	}
	// What the host has put there stays at its path: programs that the disk may lack.
	if _, err := os.Stat(ownPrograms); err == nil {
		if err := (mount{ownPrograms, "/root" + ownPrograms, "", unix.MS_BIND, ""}).do(); err != nil {
			return err
		}
	}
	// As switch_root(8) does.
	if err := os.Chdir("/root"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.Chdir("/")
}

// findDisk is the device of the disk whose serial number is this name.
func findDisk(name string) (device string, err error) {
	err = awaitDevice("the disk "+name, func() error {
		disks, _ := filepath.Glob("/sys/block/*/serial")
		for _, path := range disks {
			if strings.TrimSpace(readWhole(path)) == name {
				device = "/dev/" + filepath.Base(filepath.Dir(path))
				_, err := os.Stat(device)
				return err
			}
		}
		return fmt.Errorf("disks with a name: %q", disks)
	})
	return device, err
}

// mountAll mounts the machine's other disks and shares, and tmpfs where programs expect it.
func mountAll(parameters boot.Parameters) error {
	for _, m := range []mount{
		{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "ptmxmode=666,mode=620,gid=5"},
		{"tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, ""},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, ""},
		{"hugetlbfs", "/dev/hugepages", "hugetlbfs", unix.MS_NOSUID, ""},
		{"bpf", "/sys/fs/bpf", "bpf", unix.MS_NOSUID, ""},
		{"tracefs", "/sys/kernel/tracing", "tracefs", unix.MS_NOSUID, ""},
		{"debugfs", "/sys/kernel/debug", "debugfs", unix.MS_NOSUID, ""},
	} {
		// Not every kernel has all of them.
		if err := m.do(); err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.ENOENT) {
			logf("%v", err)
		}
	}
	for _, asked := range parameters.Mounts {
		m := mount{asked.Name, asked.Folder, "9p", 0, "trans=virtio,version=9p2000.L,cache=loose,msize=262144"}
		if asked.Disk {
			device, err := findDisk(asked.Name)
			if err != nil {
				return err
			}
			m = mount{device, asked.Folder, "ext4", 0, ""}
			if asked.ReadOnly {
				m.data = "noload"
			}
		}
		if asked.ReadOnly {
			m.flags |= unix.MS_RDONLY
		}
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}
