package guestimage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// OwnKernel is the name of the kernel that the host runs.
const OwnKernel = "host"

// Local is a kernel whose image is on this host: its own (OwnKernel), or a file, with the
// modules of its version in /lib/modules. A kernel without modules must have virtio built
// in.
func (s Store) Local(ctx context.Context, name string) (*Kernel, error) {
	path := name
	if name == OwnKernel {
		var system unix.Utsname
		if err := unix.Uname(&system); err != nil {
			return nil, os.NewSyscallError("uname", err)
		}
		path = "/boot/vmlinuz-" + unix.ByteSliceToString(system.Release[:])
	}
	version, err := kernelVersion(path)
	if err != nil {
		return nil, err
	}
	sum, err := hash(path)
	if err != nil {
		return nil, err
	}
	modules := filepath.Join("/lib/modules", version)
	packages := []string{path, version, sum}
	info, err := os.Stat(filepath.Join(modules, "modules.dep"))
	if err == nil {
		packages = append(packages, info.ModTime().UTC().String())
	}
	r := recipe{Format: kernelFormat, Packages: packages}
	dir, err := s.folder(ctx, "kernel-local", r, func(ctx context.Context, dir string) error {
		s.progress("copying the kernel %s with its modules, once", version)
		return copyKernel(ctx, dir, path, version, modules)
	})
	if err != nil {
		return nil, err
	}
	k, err := s.openKernel(name, dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(k.Modules); err != nil {
		k.Modules = ""
	}
	return k, nil
}

// copyKernel makes a kernel's folder from a kernel of the host.
func copyKernel(ctx context.Context, dir, path, version, modules string) error {
	scratch := filepath.Join(dir, "scratch")
	steps := errors.Join(
		copyFile(filepath.Join(dir, packedName), path),
		os.WriteFile(filepath.Join(dir, "version"), []byte(version+"\n"), 0o644),
	)
	if steps != nil {
		return steps
	}
	if err := unpackKernel(ctx, dir); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	first := filepath.Join(dir, "first")
	if _, err := os.Stat(filepath.Join(modules, "modules.dep")); err != nil {
		return errors.Join(os.Mkdir(first, 0o755), os.WriteFile(filepath.Join(first, moduleList), nil, 0o644))
	}
	if err := need(map[string]string{"mke2fs": "e2fsprogs", "depmod": "kmod", "xz": "xz-utils"}); err != nil {
		return err
	}
	tree := filepath.Join(scratch, "lib", "modules")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return err
	}
	// The links build and source lead out of the folder, often to nothing.
	if _, err := run(ctx, scratch, "cp", "--recursive", "--no-dereference", modules, tree); err != nil {
		return err
	}
	for _, folder := range notInGuests {
		if err := os.RemoveAll(filepath.Join(tree, version, "kernel", folder)); err != nil {
			return err
		}
	}
	if _, err := run(ctx, scratch, "depmod", "--basedir", scratch, version); err != nil {
		return err
	}
	if err := MakeDisk(ctx, filepath.Join(dir, "modules.ext4"), tree); err != nil {
		return err
	}
	return errors.Join(writeFirstModules(filepath.Join(tree, version), first), os.RemoveAll(scratch))
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

const (
	// The position of the header's signature in an x86 image, and of the version's
	// offset less 0x200 (Documentation/arch/x86/boot.rst: header, kernel_version).
	headerOffset  = 0x202
	headerMark    = "HdrS"
	versionOffset = 0x20e
)

// noImage is the error for a host kernel without a bootable image.
func noImage(path, reason string) error {
	return exit.Lacksf("%s is not a kernel that a virtual machine can boot: %s; vm: {kernel: debian} takes one of Debian's packages", path, reason)
}

// kernelVersion is the first word of an image's version, such as 6.1.0-50-amd64.
func kernelVersion(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", noImage(path, "there is none")
		}
		return "", fmt.Errorf("read the kernel of the host: %w; vm: {kernel: debian} takes one of Debian's packages", err)
	}
	if len(data) < versionOffset+2 || string(data[headerOffset:headerOffset+len(headerMark)]) != headerMark {
		return "", noImage(path, "it has no header of an x86 image (bzImage)")
	}
	at := int(binary.LittleEndian.Uint16(data[versionOffset:])) + 0x200
	if at == 0x200 || at >= len(data) {
		return "", noImage(path, "its header names no version")
	}
	text, _, _ := strings.Cut(string(data[at:min(at+256, len(data))]), "\x00")
	version, _, _ := strings.Cut(text, " ")
	if version == "" || strings.ContainsAny(version, "/\n") {
		return "", noImage(path, fmt.Sprintf("its header names no version, but %q", text))
	}
	return version, nil
}
