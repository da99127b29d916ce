// Package replace replaces files atomically with rename(2): a reader sees the old or the
// new file whole, even if the writer is killed. It does not sync: the files belong to a
// running system. They outlive the process in the page cache and need not survive a power
// failure.
package replace

import (
	"encoding/json"
	"errors"
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
