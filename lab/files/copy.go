package files

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/running"
)

// Copy copies a file, or a folder with all that is in it, between the host and a node, or two nodes. A folder at the
// destination gets the copy below its own name. skipped gets a line for each thing that cannot be copied: devices,
// sockets and pipes.
func Copy(ctx context.Context, l *running.Lab, from, to Path, skipped func(string)) error {
	if from.Node == "" && to.Node == "" {
		return exit.Wrongf("neither path is of a node; write NODE:PATH for it, as in: nines cp dut:/etc/hosts .")
	}
	source, fromPath, err := endOf(l, from, skipped)
	if err != nil {
		return err
	}
	target, toPath, err := endOf(l, to, skipped)
	if err != nil {
		return err
	}
	what, err := source.kind(ctx, fromPath)
	if err != nil {
		return fmt.Errorf("look at %s: %w", from, err)
	}
	if what == nothing {
		return exit.Wrongf("%s does not exist", from)
	}
	into, name, err := landing(ctx, target, toPath, base(fromPath), what)
	if err != nil {
		return fmt.Errorf("copy to %s: %w", to, err)
	}
	return stream(ctx, source, fromPath, target, into, name)
}

// String is the path as the user writes it.
func (p Path) String() string {
	if p.Node == "" {
		return p.Path
	}
	return p.Node + ":" + p.Path
}

// base is the last name of a path; that of / is root.
func base(p string) string {
	if p = filepath.Clean(p); p == "/" {
		return "root"
	}
	return filepath.Base(p)
}

// landing is the folder that a copy lands in, and its name there.
func landing(ctx context.Context, target end, to, name string, what kind) (into, as string, err error) {
	there, err := target.kind(ctx, to)
	switch {
	case err != nil:
		return "", "", err
	case there == folder:
		return to, name, nil
	case there == file && what == folder:
		return "", "", exit.Wrongf("there is a file, which a folder does not replace")
	case strings.HasSuffix(to, "/"):
		return "", "", exit.Wrongf("there is no such folder")
	}
	into = filepath.Dir(filepath.Clean(to))
	above, err := target.kind(ctx, into)
	if err == nil && above != folder {
		err = exit.Wrongf("%s is not a folder", into)
	}
	return into, base(to), err
}

// stream copies through a filter, which trusts neither end.
func stream(ctx context.Context, source end, from string, target end, into, name string) error {
	packed, pack := io.Pipe()
	filtered, filter := io.Pipe()
	group, ctx := errgroup.WithContext(ctx)
	step := func(f func() error, done ...func(error) error) {
		group.Go(func() error {
			err := f()
			for _, one := range done {
				_ = one(err) // a pipe's has no error
			}
			return err
		})
	}
	step(func() error { return source.pack(ctx, pack, from) }, pack.CloseWithError)
	step(func() error { return rename(packed, filter, name) }, packed.CloseWithError, filter.CloseWithError)
	step(func() error { return target.unpack(ctx, filtered, into) }, filtered.CloseWithError)
	return group.Wait()
}

// rename copies a tar stream whose first name becomes another, without what a stranger may not decide: owners, devices,
// set-user-ID bits, and names that lead out of the folder.
func rename(in io.Reader, out io.Writer, name string) error {
	r, w := tar.NewReader(in), tar.NewWriter(out)
	top := ""
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if top == "" {
			top, _, _ = strings.Cut(path.Clean(h.Name), "/")
		}
		if h.Name, err = renamed(h.Name, top, name); err != nil {
			return err
		}
		clean := &tar.Header{Name: h.Name, Typeflag: h.Typeflag, Mode: h.Mode & 0o777, Size: h.Size, ModTime: h.ModTime, Format: tar.FormatPAX}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir:
		case tar.TypeSymlink:
			clean.Linkname = h.Linkname
		case tar.TypeLink:
			if clean.Linkname, err = renamed(h.Linkname, top, name); err != nil {
				return err
			}
		default:
			continue
		}
		if err := w.WriteHeader(clean); err != nil {
			return err
		}
		if _, err := io.Copy(w, r); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, in) // tar ends its stream with more zeros than the reader takes
	return errors.Join(err, w.Close())
}

func renamed(name, top, as string) (string, error) {
	clean := path.Clean(name)
	first, rest, _ := strings.Cut(clean, "/")
	if !filepath.IsLocal(clean) || first != top {
		return "", fmt.Errorf("the files have a name that leads out of their folder: %q", name)
	}
	return path.Join(as, rest), nil
}
