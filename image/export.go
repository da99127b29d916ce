package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/vm/guestimage"
)

// Format is a form in which an image leaves the store.
type Format string

// The formats. All but the OCI's two need the image unpacked, and so root.
const (
	FormatLayout  Format = "oci"
	FormatArchive Format = "docker-archive"
	FormatRootfs  Format = "rootfs"
	FormatLXC     Format = "lxc"
	FormatDisk    Format = "disk"
)

// Formats lists them, with what each writes.
var Formats = []struct {
	Format
	Doc string
}{
	{FormatLayout, "a folder in the OCI's image layout, for podman, skopeo and others"},
	{FormatArchive, "a file for docker load and podman load"},
	{FormatRootfs, "a root file system as a file, tar and xz"},
	{FormatLXC, "a folder with meta.tar.xz and rootfs.tar.xz, as lxc-create -t local takes them"},
	{FormatDisk, "a file with an ext4 file system, for a virtual machine"},
}

// Export writes an image to a path where nothing is yet. The same image gives the same files.
func (s Store) Export(ctx context.Context, called string, format Format, path string) (err error) {
	// A program that writes it may run in another folder, or take a leading '-' for an option.
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return alreadyThere(path)
	}
	if format != FormatLayout && format != FormatArchive {
		if err := needsRoot(); err != nil {
			return fmt.Errorf("the format %s: %w", format, err)
		}
	}
	entry, err := s.Named(called)
	if err != nil {
		return err
	}
	img, err := openLayout(s.layoutOf(entry.Digest), "")
	if err != nil {
		return err
	}
	// It is written beside its place, and what is removed is only that: meanwhile another may write there.
	beside, err := os.MkdirTemp(filepath.Dir(path), ".nines-export-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(beside)) }()
	made := filepath.Join(beside, filepath.Base(path))
	s.progress("writing %s", path)
	if err := s.write(ctx, called, img, format, made); err != nil {
		return err
	}
	return place(made, path)
}

func alreadyThere(path string) error {
	return exit.Wrongf("%s already exists, and nines does not overwrite it; remove it, or choose another path", path)
}

// place renames a file or folder to a path where nothing is.
func place(made, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // NFS, for one, cannot
		err = os.Link(made, path)
		if info, failed := os.Lstat(made); failed == nil && info.IsDir() {
			err = os.Rename(made, path) // of what is there it replaces an empty folder only
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return alreadyThere(path)
	}
	if err != nil {
		return fmt.Errorf("rename to %s: %w", path, err)
	}
	return nil
}

// write writes an image in a format.
func (s Store) write(ctx context.Context, called string, img v1.Image, format Format, path string) error {
	switch format {
	case FormatLayout:
		return writeLayout(path, img, called)
	case FormatArchive:
		return writeArchive(path, img, called)
	case FormatRootfs, FormatLXC, FormatDisk:
	default:
		return exit.Wrongf("unknown format %q", format)
	}
	unpacked, err := s.Unpack(ctx, called)
	if err != nil {
		return err
	}
	switch format {
	case FormatDisk:
		return guestimage.MakeDisk(ctx, path, unpacked.Root)
	case FormatLXC:
		return writeLXC(ctx, path, unpacked.Root)
	case FormatRootfs, FormatLayout, FormatArchive:
	}
	return packRoot(ctx, unpacked.Root, path)
}

func writeArchive(path string, img v1.Image, called string) error {
	tag, err := name.NewTag(called + ":latest")
	if err != nil {
		return err
	}
	return tarball.WriteToFile(path, tag, img)
}

// packRoot packs a root file system into a tar.xz, in an order and with names that depend on
// nothing but the files.
func packRoot(ctx context.Context, root, path string) error {
	return pack(ctx, path, func(out io.Writer) error { return writeTar(ctx, out, root, time.Time{}) })
}

// writeTar writes a tree as a tar file. Times after latest become latest, unless that is zero.
func writeTar(ctx context.Context, out io.Writer, root string, latest time.Time) error {
	arguments := []string{
		"--sort=name", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--format=posix",
		// Without the process id and the access times that it would have else ("Reproducibility" in tar's manual).
		"--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime",
	}
	if !latest.IsZero() {
		arguments = append(arguments, fmt.Sprintf("--mtime=@%d", latest.Unix()), "--clamp-mtime")
	}
	cmd := exec.CommandContext(ctx, "tar", append(arguments, "--create", "--file=-", "--directory="+root, ".")...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout = out
	said := &tail{}
	cmd.Stderr = said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, said)
	}
	return nil
}

// pack compresses what write writes into a file. Two threads always, as the result of one differs.
func pack(ctx context.Context, path string, write func(io.Writer) error) error {
	program, err := exec.LookPath("xz")
	if err != nil {
		return &exit.MissingError{Capability: "xz", Reason: "xz is missing", Remedy: "apt-get install xz-utils, or export another format"}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "--threads=2", "--compress", "--stdout")
	cmd.Stdout = file
	said := &tail{}
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	written := write(in)
	closed := in.Close()
	ended := cmd.Wait()
	if ended != nil {
		ended = fmt.Errorf("xz: %w: %s", ended, said)
	}
	return errors.Join(ended, written, closed, file.Close())
}

// tail keeps the last bytes of what a program says.
type tail struct{ text []byte }

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-500):]
	return len(text), nil
}

func (t *tail) String() string { return string(t.text) }

// lxcArchitectures are LXC's names of architectures (lxc.arch in lxc.container.conf(5)).
var lxcArchitectures = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// lxcMetadata are the files of meta.tar.xz, in the form of distrobuilder: LXC's template "local"
// puts its own values in place of the names in capitals.
func lxcMetadata() []struct{ name, text string } {
	arch := lxcArchitectures[runtime.GOARCH]
	return []struct{ name, text string }{
		{"config", "lxc.include = LXC_TEMPLATE_CONFIG/common.conf\nlxc.arch = " + arch + "\n"},
		{"config-user", "lxc.include = LXC_TEMPLATE_CONFIG/common.conf\nlxc.include = LXC_TEMPLATE_CONFIG/userns.conf\nlxc.arch = " + arch + "\n"},
		{"create-message", "You just created a container from an image of nines.\n"},
		{"excludes-user", "./dev/*\n"},
		{"expiry", "4102444800\n"}, // the year 2100: such an image stays good
		{"templates", "etc/hostname\netc/hosts\n"},
	}
}

func writeLXC(ctx context.Context, path, root string) error {
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	err := pack(ctx, filepath.Join(path, lxcMetadataFile), func(out io.Writer) error {
		archive := tar.NewWriter(out)
		for _, file := range lxcMetadata() {
			err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file.name, Size: int64(len(file.text)), Mode: 0o644})
			if err == nil {
				_, err = io.WriteString(archive, file.text)
			}
			if err != nil {
				return err
			}
		}
		return archive.Close()
	})
	if err != nil {
		return err
	}
	return packRoot(ctx, root, filepath.Join(path, lxcRootFile))
}
