package files

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// packer writes a tree of files as a tar stream.
type packer struct {
	ctx     context.Context
	out     *tar.Writer
	root    *os.Root // of what is packed
	name    string   // of the root in the stream
	skipped func(string)
}

func (t tree) pack(ctx context.Context, out io.Writer, from string) error {
	f, err := t.open(from, look)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p := packer{ctx: ctx, out: tar.NewWriter(out), name: base(from), skipped: t.skipped}
	switch {
	case info.IsDir():
		if p.root, err = t.below(from); err != nil {
			return err
		}
		defer func() { _ = p.root.Close() }()
		err = p.folder(".")
	case info.Mode().IsRegular():
		var content *os.File
		if content, err = os.Open(again(f)); err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		err = p.file(content, ".")
	default:
		return exit.Wrongf("%s is %s, and no file or folder", from, describe(info.Mode()))
	}
	return errors.Join(err, p.out.Close())
}

// folder packs a folder, and all that is in it.
func (p packer) folder(name string) error {
	f, err := p.root.Open(name)
	if err != nil {
		return err
	}
	if name != "." && ofKernel(f) {
		p.skipped(path.Join(p.name, name) + " is the kernel's own file system, and is not copied")
		return f.Close()
	}
	info, err := f.Stat()
	var entries []os.DirEntry
	if err == nil {
		entries, err = f.ReadDir(-1)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := p.header(info, name, ""); err != nil {
		return err
	}
	for _, e := range entries {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if err := p.entry(path.Join(name, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) { // gone meanwhile
			return err
		}
	}
	return nil
}

func (p packer) entry(name string) error {
	info, err := p.root.Lstat(name)
	if err != nil {
		return err
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return p.folder(name)
	case mode.IsRegular():
		// It may have become a device or a pipe: neither may block, and neither is read.
		f, err := p.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		return errors.Join(p.file(f, name), f.Close())
	case mode&fs.ModeSymlink != 0:
		to, err := p.root.Readlink(name)
		if err != nil {
			return err
		}
		return p.header(info, name, to)
	default:
		p.skipped(fmt.Sprintf("%s is %s, and is not copied", path.Join(p.name, name), describe(mode)))
		return nil
	}
}

func (p packer) file(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		p.skipped(fmt.Sprintf("%s is %s, and is not copied", path.Join(p.name, name), describe(info.Mode())))
		return nil
	}
	if info.Size() == 0 {
		return p.unsized(f, info, name)
	}
	if err := p.header(info, name, ""); err != nil {
		return err
	}
	_, err = io.CopyN(p.out, reader{p.ctx, f}, info.Size())
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s became shorter while it was read; copy it again", path.Join(p.name, name))
	}
	return err
}

// mostUnsized bounds what is read of a file whose size the kernel says to be 0, as of those in /proc.
const mostUnsized = 64 << 20

// unsized packs a file of size 0 with what can be read of it all the same.
func (p packer) unsized(f *os.File, info fs.FileInfo, name string) error {
	text, err := io.ReadAll(io.LimitReader(reader{p.ctx, f}, mostUnsized))
	if err != nil {
		return err
	}
	h, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	h.Name, h.Size = path.Join(p.name, name), int64(len(text))
	if err := p.out.WriteHeader(h); err != nil {
		return err
	}
	_, err = p.out.Write(text)
	return err
}

// ofKernel is true for a folder in a file system of the kernel's own, whose files are no data.
func ofKernel(f *os.File) bool {
	var s unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &s) != nil {
		return false
	}
	return slices.Contains([]int64{
		unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC,
		unix.TRACEFS_MAGIC, unix.BPF_FS_MAGIC, unix.SECURITYFS_MAGIC, unix.DEVPTS_SUPER_MAGIC,
	}, s.Type)
}

func (p packer) header(info fs.FileInfo, name, link string) error {
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name = path.Join(p.name, name)
	return p.out.WriteHeader(h)
}

// reader reads until a context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// describe names what is neither a file, a folder nor a symbolic link.
func describe(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "no regular file"
}
