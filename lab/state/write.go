package state

import (
	"errors"
	"fmt"
	"io/fs"

	"nines.dev/nines/kernel/replace"
)

// The plan and the experiment hold the env of nodes, which may have passwords in it, so only the
// owner may read what a lab keeps.

// WriteJSON writes a value whole, as JSON.
func WriteJSON(path string, value any) error {
	return wrote(path, replace.JSON(path, value, 0o600))
}

// WriteFile writes a text whole.
func WriteFile(path string, text []byte) error {
	return wrote(path, replace.File(path, text, 0o600))
}

// wrote names the file whose write failed: the error's own path is a temporary file.
func wrote(path string, err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return &WriteError{path, failed.Err}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// AbsentIsFine is the error of a call on a file, or nil if there is no such file.
func AbsentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
