package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"go.yaml.in/yaml/v4"
)

// The files of an image of Incus or LXD ("Image format" in Incus' documentation). A split image has two:
// metadata and a root file system. A unified one has both in one tar file.
const (
	incusMetadata = "metadata.yaml"
	incusTree     = "rootfs"
)

// incusImage is an image of Incus or LXD. Its templates and properties are Incus' own, and not used: a
// node's name and configuration are the lab's.
type incusImage struct {
	// metadata is a tar file. root is a tar file or a squashfs file system; it is the same file in a unified
	// image.
	metadata, root string
}

// openIncus opens the folder that distrobuilder build-incus makes, or a unified image's file.
func openIncus(path string) (*incusImage, error) {
	i, err := incusFiles(path)
	if err != nil {
		return nil, err
	}
	files, err := filesIn(i.metadata, func(name string) bool { return name == incusMetadata })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(i.metadata), err)
	}
	text, found := files[incusMetadata]
	if !found {
		return nil, fmt.Errorf("%s has no file %s, which an image of Incus needs; if it is a root file system, write rootfs: before its path", filepath.Base(i.metadata), incusMetadata)
	}
	var described struct {
		Architecture string `yaml:"architecture"`
	}
	if err := yaml.Unmarshal([]byte(text.text), &described); err != nil {
		return nil, fmt.Errorf("%s: %w", incusMetadata, err)
	}
	if machine := lxcMachines[described.Architecture]; machine != "" && machine != runtime.GOARCH {
		return nil, fmt.Errorf("it is for %s, but this host is %s", machine, runtime.GOARCH)
	}
	return i, nil
}

func incusFiles(path string) (*incusImage, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return &incusImage{metadata: path, root: path}, nil
	}
	metadata := oneOf(path, "incus.tar*", "lxd.tar*")
	root := oneOf(path, "rootfs.squashfs", "rootfs.tar*")
	switch {
	case metadata == "":
		return nil, fmt.Errorf("the folder has neither incus.tar.xz nor lxd.tar.xz; %w", fs.ErrNotExist)
	case root != "":
		return &incusImage{metadata: metadata, root: root}, nil
	case oneOf(path, "disk.qcow2") != "":
		return nil, errors.New("it is the disk of a virtual machine; make the image without --vm")
	}
	return &incusImage{metadata: metadata, root: metadata}, nil
}

// oneOf is the first file of a folder that has one of these names.
func oneOf(folder string, patterns ...string) string {
	for _, pattern := range patterns {
		names, _ := fs.Glob(os.DirFS(folder), pattern) // the patterns are right
		if len(names) > 0 {
			return filepath.Join(folder, names[0])
		}
	}
	return ""
}

// tree is the root file system as a tar file.
func (i *incusImage) tree() (io.ReadCloser, error) {
	text, err := openTar(i.root)
	if err != nil || i.root != i.metadata {
		return text, err
	}
	out, in := io.Pipe()
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		in.CloseWithError(copyBelow(in, text, incusTree))
	}()
	return &opened{out, func() error {
		err := out.Close() // which ends the copying
		<-copied
		return errors.Join(err, text.Close())
	}}, nil
}

// copyBelow copies the files of an archive that are in a folder, with names that begin there.
func copyBelow(out io.Writer, text io.Reader, folder string) error {
	archive, copied := tar.NewReader(text), tar.NewWriter(out)
	found := false
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			if !found {
				return fmt.Errorf("it has no folder %s; an image of a virtual machine is of no use here", folder)
			}
			return copied.Close()
		}
		if err != nil {
			return err
		}
		name, is := below(header.Name, folder)
		if !is {
			continue
		}
		found, header.Name, header.Format = true, name, tar.FormatPAX
		if header.Typeflag == tar.TypeLink {
			if header.Linkname, is = below(header.Linkname, folder); !is {
				return fmt.Errorf("%s in it: a hard link to a file outside %s; %s", printable(header.Name), folder, packAnew)
			}
		}
		if header.Typeflag == tar.TypeGNUSparse {
			header.Typeflag = tar.TypeReg // whose holes the reader fills with zeros
		}
		if err := copied.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.Copy(copied, archive); err != nil {
			return err
		}
	}
}

// below is a name without the folder that it begins with. What leads out of the folder by "../" still does.
func below(name, folder string) (string, bool) {
	rest, is := strings.CutPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/"), folder)
	if !is || rest != "" && rest[0] != '/' {
		return "", false
	}
	return "." + rest, true
}

// source is the image as one that can be unpacked.
func (i *incusImage) source() (*source, error) {
	s, err := openRootfs(i.root)
	if err != nil || i.root != i.metadata {
		return s, err
	}
	sum := sha256.Sum256([]byte("incus " + s.digest)) // the same file as a root file system has other files
	s.digest = hex.EncodeToString(sum[:])
	s.layers = []part{{open: i.tree}}
	return s, nil
}

// image is the image with a manifest.
func (i *incusImage) image() (v1.Image, error) { return ofTree(i.tree, v1.Config{}) }
