// Package ledger has files in which all processes of a host record what they share: who has
// set a kernel setting, added hugepages to a pool, loaded a module. Each process changes
// only its own entries, under a lock, and records a change before making it. A ledger
// exists only while it has entries. So does its lock, the file next to it with the suffix
// ".lock".
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
)

// File is a ledger's file.
type File struct {
	Path string
	Mode fs.FileMode
}

// Content is a ledger's content: a pointer to what is read and written as JSON.
type Content interface {
	// Empty is true if the ledger has no entries.
	Empty() bool
}

// Change reads the ledger and runs f under the lock. f changes what was read, and may save
// it several times.
func (l File) Change(content Content, f func(save func() error) error) error {
	lock, err := l.lock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.Path, err)
	}
	defer l.unlock(lock)
	if err := l.Read(content); err != nil {
		return err
	}
	return f(func() error {
		if content.Empty() {
			return l.Remove()
		}
		return l.Write(content)
	})
}

// Read reads without the lock. If there is no ledger, content stays unchanged.
func (l File) Read(content any) error {
	file, err := os.OpenFile(l.Path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		// A process that was killed while it wrote in place left the end of the old
		// text after the new, and one of an earlier version an empty file.
		err = errors.Join(json.NewDecoder(file).Decode(content), file.Close())
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", l.Path, err)
	}
	return nil
}

// Write replaces the ledger, for a caller that holds another lock. On a full disk it writes over the
// old one, as an undo must work there.
func (l File) Write(content any) error {
	err := fault.Fail("before writing a ledger")
	if err == nil {
		err = inFolder(l.Path, func() error { return replace.JSON(l.Path, content, l.Mode) })
	}
	if replace.IsFull(err) && l.over(content) == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", l.Path, err)
	}
	return nil
}

// over writes over the ledger, in as little room as it can.
func (l File) over(content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return replace.Over(l.Path, append(text, '\n'))
}

// Remove removes the ledger, a temporary file of a killed process, and the folder if it is
// empty then. It tolerates that any of them is missing.
func (l File) Remove() error {
	if err := replace.Remove(l.Path); err != nil {
		return fmt.Errorf("remove %s: %w", l.Path, err)
	}
	_ = os.Remove(filepath.Dir(l.Path))
	return nil
}

func (l File) lock() (lock *flock.Lock, err error) {
	path := l.Path + ".lock"
	err = inFolder(path, func() error {
		lock, err = flock.Wait(context.Background(), path)
		return err
	})
	return lock, err
}

// unlock releases the lock, and removes it if the ledger is gone.
func (l File) unlock(lock *flock.Lock) {
	if _, err := os.Lstat(l.Path); !errors.Is(err, fs.ErrNotExist) {
		_ = lock.Free()
		return
	}
	_ = l.Remove()
	_ = lock.Remove()
	_ = os.Remove(filepath.Dir(l.Path))
}

// inFolder makes a file's folder and runs f. Another process may remove the empty folder in
// between; then os.MkdirAll reports that it exists, or that it does not.
func inFolder(path string, f func() error) (err error) {
	for range 100 {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = f()
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return err
}
