package guestimage

import (
	"context"
	"path/filepath"
)

// headersFormat increases when headers folders are made differently.
const headersFormat = 1

// notInHeaders leaves out the kernel, on which Debian 13's headers depend, but for its files in /boot, and
// with the hooks its initramfs: nobody boots what modules are built in.
var notInHeaders = []string{"/etc/kernel/*", "/lib/modules/*/kernel/*", "/usr/lib/modules/*/kernel/*"}

// Headers is a root file system, as a folder, of the kernel's Debian release with what
// building its modules needs: its headers, its compiler and make. It is made if the store
// does not have it.
func (s Store) Headers(ctx context.Context, kernel *Kernel) (root string, err error) {
	release, _ := kernelRecipe(kernel.Name)
	r := recipe{Format: headersFormat, Release: release.Name, Packages: []string{"linux-headers-" + kernel.Version, "make"}}
	dir, err := s.folder(ctx, "headers-"+kernel.Name, r, func(ctx context.Context, dir string) error {
		s.progress("fetching the headers and the compiler of kernel %s, once; this takes a minute or two", kernel.Version)
		cmd, err := Bootstrapper(ctx, filepath.Join(dir, treeFolder), release.Name, r.Packages, notInHeaders...)
		if err != nil {
			return err
		}
		_, err = finish(cmd)
		return err
	})
	return filepath.Join(dir, treeFolder), err
}
