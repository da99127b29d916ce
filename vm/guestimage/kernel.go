package guestimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
)

// Kernel is a kernel with its modules, ready to boot.
type Kernel struct {
	// Name is one of KernelNames, Version the kernel's own name, such as
	// 6.1.0-50-rt-amd64.
	Name, Version string
	// Image, Initrd and Config are files. Modules is a disk with ext4 for /lib/modules.
	Image, Initrd, Config, Modules string
}

// flavours are the kinds of kernels, by the metapackage of the newest.
var flavours = map[string]string{
	"debian": "linux-image-amd64",
	"cloud":  "linux-image-cloud-amd64",
	"rt":     "linux-image-rt-amd64",
}

// KernelNames are the available kernels: a kind and a Debian release. The kind alone means
// the release of the images.
func KernelNames() []string {
	var names []string
	for _, release := range kernelReleases {
		for _, flavour := range []string{"debian", "cloud", "rt"} {
			names = append(names, flavour+release.Number)
		}
	}
	return names
}

// ParseKernel completes a name to one of KernelNames.
func ParseKernel(name string) (string, error) {
	if _, kind := flavours[name]; kind {
		name += HostRelease().Number
	}
	if !slices.Contains(KernelNames(), name) {
		return "", exit.Wrongf("unknown kernel %q; allowed: debian, cloud, rt, %s", name, strings.Join(KernelNames(), ", "))
	}
	return name, nil
}

// kernelFormat increases when kernels are made differently.
const kernelFormat = 2

// notInGuests are folders of modules for hardware that our machines never have; they are
// most of a kernel.
var notInGuests = []string{
	"sound", "drivers/gpu", "drivers/media", "drivers/net/wireless", "drivers/net/wwan", "drivers/staging", "drivers/iio",
	"drivers/infiniband", "drivers/scsi", "drivers/usb", "drivers/hid", "drivers/input", "drivers/isdn", "drivers/bluetooth",
	"drivers/hwmon", "drivers/mmc", "drivers/mtd", "drivers/nfc", "drivers/comedi", "drivers/md", "drivers/ata",
	"net/bluetooth", "net/mac80211", "net/wireless", "net/nfc", "fs/btrfs", "fs/xfs", "fs/ocfs2", "fs/jfs", "fs/bcachefs",
}

// Kernel returns a kernel by name, and fetches it if the store does not have it.
func (s Store) Kernel(ctx context.Context, name string) (*Kernel, error) {
	name, err := ParseKernel(name)
	if err != nil {
		return nil, err
	}
	release, r := kernelRecipe(name)
	dir, err := s.folder(ctx, "kernel-"+name, r, func(ctx context.Context, dir string) error {
		s.progress("fetching the kernel %s of Debian %s, once", r.Packages[0], release.Number)
		return s.fetchKernel(ctx, dir, release.Name, r.Packages[0])
	})
	if err != nil {
		return nil, err
	}
	return s.openKernel(name, dir)
}

func kernelRecipe(name string) (Release, recipe) {
	flavour := strings.TrimRight(name, "0123456789")
	release := kernelReleases[slices.IndexFunc(kernelReleases, func(r Release) bool { return r.Number == name[len(flavour):] })]
	return release, recipe{Format: kernelFormat, Release: release.Name, Packages: []string{flavours[flavour]}}
}

// KernelState is an available kernel.
type KernelState struct {
	Name    string `json:"name"`
	Package string `json:"package"`
	Release string `json:"release"`
	// Version is empty if it has not been fetched.
	Version string `json:"version,omitempty"`
}

// Kernels are all kernels, and their state in the store.
func (s Store) Kernels() []KernelState {
	var all []KernelState
	for _, name := range KernelNames() {
		release, r := kernelRecipe(name)
		version, _ := os.ReadFile(filepath.Join(s.Dir, "kernel-"+name+"-"+r.key(), "version"))
		all = append(all, KernelState{name, r.Packages[0], release.Number, strings.TrimSpace(string(version))})
	}
	return all
}

// fetchKernel makes a kernel's folder: vmlinuz, vmlinux, config, the modules for an initramfs, and a
// disk with all modules.
func (s Store) fetchKernel(ctx context.Context, dir, release, pkg string) error {
	if err := need(map[string]string{"mke2fs": "e2fsprogs", "depmod": "kmod", "xz": "xz-utils"}); err != nil {
		return err
	}
	scratch := filepath.Join(dir, "scratch")
	a, err := newApt(ctx, scratch, release)
	if err != nil {
		return err
	}
	newest, err := a.depends(ctx, pkg)
	if err != nil {
		return err
	}
	tree := filepath.Join(scratch, "tree")
	if err := a.fetch(ctx, newest, tree); err != nil {
		return err
	}
	version := strings.TrimPrefix(newest, "linux-image-")
	modules, err := modulesFolder(tree, version)
	if err != nil {
		return err
	}
	for _, folder := range notInGuests {
		if err := os.RemoveAll(filepath.Join(modules, "kernel", folder)); err != nil {
			return err
		}
	}
	// The package's own script would do this on installation.
	if _, err := run(ctx, scratch, "depmod", "--basedir", filepath.Dir(filepath.Dir(filepath.Dir(modules))), version); err != nil {
		return err
	}
	if err := MakeDisk(ctx, filepath.Join(dir, "modules.ext4"), filepath.Dir(modules)); err != nil {
		return err
	}
	first := filepath.Join(dir, "first")
	if err := writeFirstModules(modules, first); err != nil {
		return err
	}
	err = errors.Join(
		os.Rename(filepath.Join(tree, "boot", "vmlinuz-"+version), filepath.Join(dir, packedName)),
		os.Rename(filepath.Join(tree, "boot", "config-"+version), filepath.Join(dir, "config")),
		os.WriteFile(filepath.Join(dir, "version"), []byte(version+"\n"), 0o644),
	)
	if err == nil {
		err = unpackKernel(ctx, dir)
	}
	return errors.Join(err, os.RemoveAll(scratch))
}

// modulesFolder is a package's modules folder: below /lib, or /usr/lib since Debian 13.
func modulesFolder(tree, version string) (string, error) {
	for _, lib := range []string{"lib", "usr/lib"} {
		dir := filepath.Join(tree, lib, "modules", version)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the package of kernel %s has no modules", version)
}

// openKernel makes the initramfs for this nines-guest, if the folder does not have it.
func (s Store) openKernel(name, dir string) (*Kernel, error) {
	version, err := os.ReadFile(filepath.Join(dir, "version"))
	if err != nil {
		return nil, err
	}
	guest, err := hash(s.Guest)
	if err != nil {
		return nil, fmt.Errorf("the guest's first process (make build): %w", err)
	}
	k := &Kernel{
		Name: name, Version: strings.TrimSpace(string(version)),
		Image: bootImage(dir), Initrd: filepath.Join(dir, "initrd-"+guest),
		Config: filepath.Join(dir, "config"), Modules: filepath.Join(dir, "modules.ext4"),
	}
	if _, err := os.Stat(k.Initrd); err == nil {
		return k, nil
	}
	file, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return nil, err
	}
	err = errors.Join(writeInitramfs(file, s.Guest, filepath.Join(dir, "first")), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), k.Initrd)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	s.dropOthers(filepath.Join(dir, "initrd-*"), k.Initrd)
	return k, nil
}

// dropOthers keeps only the newest few files that other builds of nines have made.
func (s Store) dropOthers(pattern, keep string) {
	const few = 4
	files, _ := filepath.Glob(pattern)
	slices.SortFunc(files, func(a, b string) int { return modified(b).Compare(modified(a)) })
	for i, file := range files {
		if i >= few && file != keep {
			_ = os.Remove(file)
		}
	}
}
