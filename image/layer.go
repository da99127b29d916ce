package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// The names of whiteouts, which remove files of the layers below ("Whiteouts" in layer.md of the
// OCI's image-spec).
const (
	whiteout       = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

// xattrRecord begins the names of the records of a tar file that are extended attributes.
const xattrRecord = "SCHILY.xattr."

// layer is a layer that is being applied to a folder. Layers are applied from the lowest up, as
// layer.md has it, since a hard link may lead to a file of a layer below.
type layer struct {
	root   string
	growth *growth
	// made are the paths of this layer, which its opaque whiteouts keep.
	made map[string]bool
	// folders have their times set in the end, as each new file changes them.
	folders []*tar.Header
}

// applyLayer changes the tree below root by a layer, a tar file. Names and links of the layer lead
// nowhere but below root, which nobody else may change meanwhile.
func applyLayer(root string, text io.Reader, g *growth) error {
	l := layer{root: root, growth: g, made: map[string]bool{}}
	archive := tar.NewReader(g.reader(text))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return l.setTimes()
		}
		if err != nil {
			return exit.Wrongf("it is not a readable tar file: %w; get or make the image again", err)
		}
		if err := l.apply(header, archive); err != nil {
			return fmt.Errorf("%s in it: %w", printable(header.Name), err)
		}
	}
}

func printable(name string) string { return fmt.Sprintf("%.200q", name) }

func (l *layer) apply(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil // its records are about the archive
	}
	if strings.ContainsRune(h.Name, 0) || strings.ContainsRune(h.Linkname, 0) {
		return exit.Wrongf("a name has a NUL in it; %s", packAnew)
	}
	if leadsOut(h.Name) {
		return exit.Wrongf("the name leads out of the image; %s", packAnew)
	}
	name := path.Clean("/" + h.Name)
	folder, base := path.Split(name)
	parent, err := l.resolve(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(parent, 0o755); errors.Is(err, unix.ENOTDIR) {
		return exit.Wrongf("a file is in the place of one of its folders; %s", packAnew)
	} else if err != nil {
		return err
	}
	switch {
	case base == opaqueWhiteout:
		return l.empty(parent)
	case strings.HasPrefix(base, whiteout):
		hidden := strings.TrimPrefix(base, whiteout)
		if hidden == "" || hidden == "." || hidden == ".." {
			return exit.Wrongf("a whiteout without a name; %s", packAnew)
		}
		return os.RemoveAll(filepath.Join(parent, hidden))
	}
	target := filepath.Join(parent, base)
	for made := target; len(made) > len(l.root); made = filepath.Dir(made) {
		l.made[made] = true
	}
	if err := l.create(target, h, content); err != nil {
		return err
	}
	return dress(target, h)
}

// resolve is the path on the host of a folder in the tree, whose links lead where they would lead
// in a container.
func (l *layer) resolve(folder string) (string, error) {
	return securejoin.SecureJoin(l.root, folder)
}

// empty removes from a folder what layers below have put there.
func (l *layer) empty(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		below := filepath.Join(folder, entry.Name())
		switch {
		case !l.made[below]:
			err = os.RemoveAll(below)
		case entry.IsDir():
			err = l.empty(below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create makes a file, in place of what is there, but a folder stays a folder.
func (l *layer) create(target string, h *tar.Header, content io.Reader) error {
	old, err := os.Lstat(target)
	if err == nil && h.Typeflag == tar.TypeDir && old.IsDir() {
		l.folders = append(l.folders, h)
		return nil
	}
	if err == nil && target == l.root {
		return exit.Wrongf("the root of an image is a folder; %s", packAnew)
	}
	if err == nil {
		err = os.RemoveAll(target)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		l.folders = append(l.folders, h)
		return os.Mkdir(target, 0o755)
	case tar.TypeReg, tar.TypeGNUSparse: // whose holes the reader fills with zeros
		if err := l.growth.write(h.Size); err != nil {
			return err
		}
		return write(target, content)
	case tar.TypeSymlink:
		return os.Symlink(h.Linkname, target)
	case tar.TypeLink:
		return l.link(target, h.Linkname)
	case tar.TypeFifo:
		return mknod(target, unix.S_IFIFO, h)
	case tar.TypeChar:
		return mknod(target, unix.S_IFCHR, h)
	case tar.TypeBlock:
		return mknod(target, unix.S_IFBLK, h)
	}
	return exit.Wrongf("a file of the unknown type %q; %s", h.Typeflag, packAnew)
}

func write(target string, content io.Reader) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// link makes a hard link. Its aim is a path in the tree, and may itself be a symbolic link.
func (l *layer) link(target, aim string) error {
	if leadsOut(aim) {
		return exit.Wrongf("a hard link to %s, which leads out of the image; %s", printable(aim), packAnew)
	}
	folder, base := path.Split(path.Clean("/" + aim))
	parent, err := l.resolve(folder)
	if err != nil {
		return err
	}
	if base == "" {
		return exit.Wrongf("a hard link to the root; %s", packAnew)
	}
	err = os.Link(filepath.Join(parent, base), target)
	switch info, _ := os.Lstat(filepath.Join(parent, base)); {
	case err == nil:
		return nil
	case info == nil:
		return exit.Wrongf("a hard link to %s, which is not in the image at this point; %s", printable(aim), packAnew)
	case info.IsDir():
		return exit.Wrongf("a hard link to %s, which is a folder; %s", printable(aim), packAnew)
	}
	return err
}

// packAnew is what to do about an archive whose names cannot be unpacked.
const packAnew = "get the image again; tar -C FOLDER --numeric-owner -cf FILE . packs a root file system"

// leadsOut is true for a name of an archive that would be beside the root, or above it.
func leadsOut(name string) bool {
	name = path.Clean(strings.TrimLeft(name, "/"))
	return name == ".." || strings.HasPrefix(name, "../")
}

func mknod(target string, kind uint32, h *tar.Header) error {
	device := unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))
	if err := unix.Mknod(target, kind|0o600, int(device)); err != nil {
		return &fs.PathError{Op: "mknod", Path: target, Err: err}
	}
	return nil
}

// dress gives a file its owner, mode, extended attributes and time. chown(2) takes setuid and
// capabilities away, so it comes first.
func dress(target string, h *tar.Header) error {
	if h.Typeflag == tar.TypeLink {
		return nil // it is another name of a file that has them
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(target, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	if h.Typeflag != tar.TypeSymlink {
		// Not os.Chmod, whose bits for setuid, setgid and sticky are others.
		if err := unix.Chmod(target, uint32(h.Mode)&0o7777); err != nil {
			return &fs.PathError{Op: "chmod", Path: target, Err: err}
		}
	}
	for record, value := range h.PAXRecords {
		name, found := strings.CutPrefix(record, xattrRecord)
		// A layer's own marks of overlayfs would hide files, or show others.
		if !found || strings.HasPrefix(name, "trusted.overlay.") {
			continue
		}
		if err := unix.Lsetxattr(target, name, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("set the attribute %s: %w", printable(name), err)
		}
	}
	return setTime(target, h)
}

func setTime(target string, h *tar.Header) error {
	stamp, err := unix.TimeToTimespec(h.ModTime)
	if err != nil {
		stamp = unix.Timespec{}
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, target, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW)
}

func (l *layer) setTimes() error {
	for _, h := range l.folders {
		folder, base := path.Split(path.Clean("/" + h.Name))
		parent, err := l.resolve(folder)
		if err != nil {
			return err
		}
		target := filepath.Join(parent, base)
		// It may have gone again, or be another kind of file now.
		if info, err := os.Lstat(target); err != nil || !info.IsDir() {
			continue
		}
		if err := setTime(target, h); err != nil {
			return err
		}
	}
	return nil
}
