package files

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

func (t tree) unpack(ctx context.Context, in io.Reader, into string) error {
	root, err := t.below(into)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, in) // so that the writer ends
			return err
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := put(root, h, reader{ctx, r}); err != nil {
			return err
		}
	}
}

// put makes what an entry of a tar stream describes, in place of what is there.
func put(root *os.Root, h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		err := root.Mkdir(h.Name, fs.FileMode(h.Mode))
		if errors.Is(err, fs.ErrExist) {
			if info, there := root.Lstat(h.Name); there == nil && info.IsDir() {
				return nil // its files join those that are there
			}
		}
		if err == nil {
			err = root.Chmod(h.Name, fs.FileMode(h.Mode)) // whatever the caller's umask
		}
		return err
	case tar.TypeSymlink:
		return replace(root, h.Name, func(next string) error { return root.Symlink(h.Linkname, next) })
	case tar.TypeLink:
		return replace(root, h.Name, func(next string) error { return root.Link(h.Linkname, next) })
	}
	return putFile(root, h, content)
}

// replace makes something under a name of its own, and renames it when it is complete.
func replace(root *os.Root, name string, make func(next string) error) error {
	next := path.Join(path.Dir(name), ".nines-"+rand.Text())
	err := make(next)
	if err == nil {
		err = root.Rename(next, name)
	}
	if err != nil {
		_ = root.Remove(next) // it may not have been made
	}
	return err
}

func putFile(root *os.Root, h *tar.Header, content io.Reader) error {
	mount, err := mountedFile(root, h.Name)
	if err != nil {
		return err
	}
	if mount != nil {
		return fill(mount, content)
	}
	return replace(root, h.Name, func(next string) error {
		f, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		err = f.Chmod(fs.FileMode(h.Mode))
		if err := errors.Join(err, fill(f, content)); err != nil {
			return err
		}
		return root.Chtimes(next, time.Time{}, h.ModTime)
	})
}

func fill(f *os.File, content io.Reader) error {
	_, err := io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// mountedFile opens an empty file for writing if it is a mount, such as a node's /etc/hosts, which no other file can
// replace; nil if it is none.
func mountedFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_WRONLY|unix.O_NONBLOCK, 0) // a pipe does not block, a device is not written
	if err != nil {
		return nil, nil //nolint:nilerr // no file, or one that a rename replaces or fails at
	}
	var s unix.Statx_t
	err = unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_TYPE, &s)
	regular := s.Mode&unix.S_IFMT == unix.S_IFREG
	if err != nil || !regular || s.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("empty %s: %w", name, err), f.Close())
	}
	return f, nil
}
