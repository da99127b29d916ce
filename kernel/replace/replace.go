// Package replace replaces files at once, by rename(2): a reader sees the old or the new
// one whole, also when the writer is killed. Nothing is synced: a file of a running system
// outlives the process in the page cache, and needs not outlive a power cut.
package replace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
)

// unfinished ends the name of a file that is being written.
const unfinished = ".new"

// File replaces the file at path. Of two that do at once one may fail.
func File(path string, text []byte, mode fs.FileMode) error {
	next := path + unfinished
	err := write(next, text, mode)
	fault.Point("file half replaced")
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, remove(next)) // it would keep room on a full disk
	}
	return nil
}

// JSON replaces the file at path by a value, for people to read as well.
func JSON(path string, value any, mode fs.FileMode) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return File(path, append(text, '\n'), mode)
}

// Remove removes a file, and what a killed process left of a new one. Neither needs to be
// there.
func Remove(path string) error {
	return errors.Join(remove(path+unfinished), remove(path))
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
