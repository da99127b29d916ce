package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeWhole writes a file that the user named: a temporary one beside it, and then a rename. So a
// failure keeps the old file, and a symbolic link of that name, which someone else may have put
// into a result folder, is replaced and not followed. Anything but a plain file, such as a pipe, is
// written directly. Errors of write stay as they are.
func writeWhole(path string, write func(io.Writer) error) error {
	fail := func(err error) error {
		if err == nil {
			return nil
		}
		if inner := new(os.PathError); errors.As(err, &inner) {
			err = inner.Err // its path may be a temporary one
		}
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fail(err)
		}
		out := bufio.NewWriter(file)
		return errors.Join(write(out), fail(out.Flush()), fail(file.Close()))
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".nines-*.tmp")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // already renamed if all went well
	out := bufio.NewWriter(file)
	if err := write(out); err != nil {
		_ = file.Close()
		return err
	}
	if err := errors.Join(out.Flush(), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fail(err)
	}
	return fail(os.Rename(file.Name(), path))
}
