package vm

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"nines.dev/nines/vm/guestagent"
)

// CopyIn copies a file or a folder of the host into a folder of the guest, which it
// creates.
func (m *Machine) CopyIn(ctx context.Context, source, folder string) error {
	if _, err := m.Output(ctx, "mkdir", "-p", folder); err != nil {
		return err
	}
	reader, writer := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(writer, source)
		_ = writer.CloseWithError(err)
		packed <- err
	}()
	err := m.tar(ctx, []string{"tar", "-x", "-f", "-", "-C", folder}, guestagent.Streams{Stdin: reader})
	_ = reader.Close()
	if failed := <-packed; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		err = errors.Join(failed, err)
	}
	if err != nil {
		return fmt.Errorf("copy %s into the guest: %w", source, err)
	}
	return nil
}

// CopyOut copies a file or a folder of the guest into a folder of the host, which it
// creates.
func (m *Machine) CopyOut(ctx context.Context, source, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	reader, writer := io.Pipe()
	unpacked := make(chan error, 1)
	go func() {
		err := unpack(reader, folder)
		_, _ = io.Copy(io.Discard, reader) // the archive's padding, or its rest after an error
		unpacked <- err
	}()
	err := m.tar(ctx, []string{"tar", "-c", "-f", "-", "-C", path.Dir(source), path.Base(source)}, guestagent.Streams{Stdout: writer})
	_ = writer.Close()
	if err := errors.Join(err, <-unpacked); err != nil {
		return fmt.Errorf("copy %s out of the guest: %w", source, err)
	}
	return nil
}

// tar runs the guest's tar.
func (m *Machine) tar(ctx context.Context, argv []string, streams guestagent.Streams) error {
	var said bytes.Buffer
	streams.Stderr = &said
	code, err := m.Do(ctx, guestagent.Request{Argv: argv}, streams)
	if err == nil && code != 0 {
		err = fmt.Errorf("tar: exit code %d: %s", code, strings.TrimSpace(said.String()))
	}
	return err
}

// pack writes a file or a folder as an archive; all names start with its own name.
func pack(w io.Writer, source string) error {
	archive := tar.NewWriter(w)
	above := filepath.Dir(filepath.Clean(source))
	err := filepath.WalkDir(source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil || info.Mode()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0 {
			return err
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if target, err = os.Readlink(name); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, target)
		if err != nil {
			return err
		}
		if header.Name, err = filepath.Rel(above, name); err != nil {
			return err
		}
		if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.CopyN(archive, file, header.Size)
		return errors.Join(err, file.Close())
	})
	return errors.Join(err, archive.Close())
}

// unpack extracts an archive below a folder, and nothing outside of it.
func unpack(r io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			if err = root.Mkdir(name, header.FileInfo().Mode().Perm()); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		case tar.TypeSymlink:
			if err = root.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
				err = root.Symlink(header.Linkname, name)
			}
		case tar.TypeReg:
			err = unpackFile(root, name, header, archive)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, header *tar.Header, content io.Reader) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
