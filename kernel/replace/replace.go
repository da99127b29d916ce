// Package replace replaces files atomically with rename(2): a reader sees the old or the
// new file whole, even if the writer is killed. It does not sync: the files belong to a
// running system. They outlive the process in the page cache and need not survive a power
// failure.
package replace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
)

// Unfinished is the suffix of a file that is being written.
const Unfinished = ".new"

// File replaces the file at path. If two do so at once, one may fail.
func File(path string, text []byte, mode fs.FileMode) error {
	next := path + Unfinished
	err := write(next, text, mode)
	fault.Point("file half replaced")
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, remove(next)) // it would take space on a full disk
	}
	return nil
}

// JSON replaces the file at path by a value as indented JSON.
func JSON(path string, value any, mode fs.FileMode) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return File(path, append(text, '\n'), mode)
}

// Read reads a value that JSON has written.
func Read[T any](path string) (value T, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return value, fmt.Errorf("read %s: %w", path, err)
	}
	return value, nil
}

// ReadIfThere is Read, and the zero value where there is no file: nil for a pointer.
func ReadIfThere[T any](path string) (T, error) {
	value, err := Read[T](path)
	if errors.Is(err, fs.ErrNotExist) {
		return value, nil
	}
	return value, err
}

// Over writes a text over that of an existing file, which a full disk has room for as long as
// the text does not grow. A reader may see both: one that was killed leaves the end of the old
// text behind the new, or of a text longer than a page of memory the first pages.
func Over(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	// Room first, as half a text would be worse than the old one.
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, int64(len(text)))
	}
	if err == nil {
		_, err = file.WriteAt(text, 0)
	}
	if err == nil {
		err = file.Truncate(int64(len(text)))
	}
	return errors.Join(err, file.Close())
}

// IsFull is true if something did not fit on a disk.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// Remove removes a file, and the temporary file of a killed process. Neither needs to
// exist.
func Remove(path string) error {
	return errors.Join(remove(path+Unfinished), remove(path))
}

func write(path string, text []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
