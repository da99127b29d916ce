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
	if err := p.header(info, name, ""); err != nil {
		return err
	}
	_, err = io.CopyN(p.out, reader{p.ctx, f}, info.Size())
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s became shorter while it was read; copy it again", path.Join(p.name, name))
	}
	return err
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
