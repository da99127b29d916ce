package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// recognise finds out which form an image has whose name is only a path, from what is there.
func recognise(n spec.ImageName) (spec.ImageName, error) {
	if n.Form != spec.ImagePath {
		return n, nil
	}
	form, err := formOf(n.Path)
	if errors.Is(err, os.ErrNotExist) {
		return n, exit.Wrongf("there is no image %s: %w", n.Path, err)
	}
	if err != nil {
		return n, exit.Wrongf("image %s: %w", n.Path, err)
	}
	n.Form = form
	return n, nil
}

func formOf(path string) (spec.ImageForm, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return formOfFile(path)
	}
	holds := func(name string) bool {
		_, err := os.Stat(filepath.Join(path, name))
		return err == nil
	}
	switch {
	case holds("oci-layout"): // the OCI's image-layout.md
		return spec.ImageLayout, nil
	case holds(lxcMetadataFile) && holds(lxcRootFile):
		return spec.ImageLXC, nil
	case oneOf(path, "incus.tar*", "lxd.tar*") != "":
		return spec.ImageIncus, nil
	}
	return "", fmt.Errorf("the folder is neither an OCI image layout nor has it %s and %s, or incus.tar.xz; if it is a root file system, tar -C %s --numeric-owner -cf FILE . packs it", lxcMetadataFile, lxcRootFile, path)
}

// rootFolders are in the root of nearly every file system (hier(7)), and in no archive of an image.
var rootFolders = []string{"bin", "dev", "etc", "lib", "proc", "sbin", "usr", "var"}

// formOfFile tells a root file system from an archive of docker save, which has a file manifest.json
// (image/tarexport in github.com/moby/moby), and from a unified image of Incus. It reads only as far as it has to.
func formOfFile(file string) (spec.ImageForm, error) {
	if whole, _, err := openFile(file); err != nil { // that it is a file
		return "", err
	} else if err := whole.Close(); err != nil {
		return "", err
	}
	plain, err := openTar(file)
	if err != nil {
		return "", err
	}
	defer plain.Close()
	const either = "write docker-archive: before its path if docker save wrote it, or rootfs: if it is a root file system"
	archive := tar.NewReader(plain)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("its files do not identify its format; %s", either)
		}
		if err != nil {
			return "", fmt.Errorf("it cannot be read as a tar file: %w", err)
		}
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		first, _, _ := strings.Cut(name, "/")
		switch {
		case name == "manifest.json":
			return spec.ImageArchive, nil
		case name == incusMetadata, first == incusTree:
			return spec.ImageIncus, nil
		case slices.Contains(rootFolders, first):
			return spec.ImageRootfs, nil
		}
	}
}
