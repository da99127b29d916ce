package spec

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// OCIDriver is the program that makes an oci node's container.
type OCIDriver string

// The drivers. runc and crun make containers by themselves; the others manage containers, and call
// one of these.
const (
	DriverRunc       OCIDriver = "runc"
	DriverCrun       OCIDriver = "crun"
	DriverPodman     OCIDriver = "podman"
	DriverDocker     OCIDriver = "docker"
	DriverContainerd OCIDriver = "containerd"
)

// ContainerInit says what the first process of an oci node is.
type ContainerInit string

// The first processes of an oci node.
const (
	// InitOfImage is the image's own: its entrypoint and command, as its user, in its folder.
	InitOfImage ContainerInit = "image"
	// InitOfNines is nines-init, which starts nothing else.
	InitOfNines ContainerInit = "nines"
)

// ImageForm is where an image is, and in which form.
type ImageForm string

// The forms of images. A text without one of them and a colon is a name in the store.
const (
	// ImageLayout is a folder in the form of the OCI's image-layout.md.
	ImageLayout ImageForm = "oci"
	// ImageArchive is a file as docker save and podman save write it.
	ImageArchive ImageForm = "docker-archive"
	// ImageRootfs is a root file system as a tar file, plain or compressed by gzip, xz or zstd.
	ImageRootfs ImageForm = "rootfs"
	// ImageLXC is a folder with the two files of an image of LXC, as distrobuilder makes them.
	ImageLXC ImageForm = "lxc"
	// ImageIncus is a folder or a file of an image of Incus or LXD, as distrobuilder makes them.
	ImageIncus ImageForm = "incus"
	// ImagePath is a file or folder in one of the forms above, which it tells itself.
	ImagePath ImageForm = "path"
	// ImageReference is an image in a registry, or one that a driver has under such a name.
	ImageReference ImageForm = "reference"
	// ImageStored is an image that nines image has made or imported.
	ImageStored ImageForm = ""
)

// ImageName is a parsed image of a node.
type ImageName struct {
	Form ImageForm
	// Path is absolute; empty for a stored image and a reference.
	Path string
	// Name is a stored image's, the whole reference, or that of one of several in a layout or an archive;
	// empty for the only one.
	Name string
}

var storedName = regexp.MustCompile(namePattern)

// ParseImage parses the image of a node: "oci:/srv/frr", "oci:/srv/images:frr",
// "docker-archive:/srv/frr.tar", "rootfs:/srv/rootfs.tar.xz", "lxc:/srv/debian", "incus:/srv/debian", "/srv/rootfs.tar.xz",
// "registry.example/frr:10", or "frr".
func ParseImage(text string) (ImageName, error) {
	form, rest, found := strings.Cut(text, ":")
	switch ImageForm(form) {
	case ImageLayout, ImageArchive, ImageRootfs, ImageLXC, ImageIncus:
	default:
		if !found && storedName.MatchString(text) {
			return ImageName{Name: text}, nil
		}
		if strings.HasPrefix(text, definitionPrefix) {
			return ImageName{}, fmt.Errorf("%q is a base for images, not an image; use it as from: of an image in the section images", clip(text))
		}
		if strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") {
			return ImageName{Form: ImagePath, Path: text}, checkImagePath("", text)
		}
		if reference.MatchString(text) {
			return ImageName{Form: ImageReference, Name: text}, nil
		}
		return ImageName{}, notAnImage(text)
	}
	n := ImageName{Form: ImageForm(form), Path: rest}
	if n.Form == ImageLayout || n.Form == ImageArchive {
		n.Path, n.Name, _ = strings.Cut(rest, ":")
	}
	if err := checkImagePath(form+":", n.Path); err != nil {
		return ImageName{}, err
	}
	return n, nil
}

// checkImagePath checks the path of a file or folder after a form with its colon.
func checkImagePath(form, file string) error {
	switch {
	case !path.IsAbs(file):
		return fmt.Errorf("%q is not an absolute path; write %s/…", clip(file), form)
	case path.Clean(file) != file:
		return fmt.Errorf("%q is not the shortest form of the path; write %q", clip(file), clip(path.Clean(file)))
	case file == "/":
		return errors.New("the host's root folder is not an image; name the image's own folder or file")
	}
	return nil
}

// String is the text that ParseImage takes.
func (n ImageName) String() string {
	switch {
	case n.Form == ImageStored || n.Form == ImageReference:
		return n.Name
	case n.Form == ImagePath:
		return n.Path
	case n.Name == "":
		return string(n.Form) + ":" + n.Path
	}
	return string(n.Form) + ":" + n.Path + ":" + n.Name
}

func checkImage(text string) error {
	_, err := ParseImage(text)
	return err
}
