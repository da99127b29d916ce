// Package ledger has files in which all processes of a host account for what they share:
// who has set what of a kernel setting, added hugepages to a pool, loaded a module. Each
// changes only its own entries, under a lock, and what a file says is true before it is
// done. A ledger is there only while something is in it, and so is its lock, the file
// beside it that ends in ".lock".
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

	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/kernel/replace"
)

// File is the file of a ledger.
type File struct {
	Path string
	Mode fs.FileMode
}

// Content is what a ledger holds: a pointer to what is read and written as JSON.
type Content interface {
	// Empty is true if nobody has anything in it.
	Empty() bool
}

// Change reads the ledger, and runs f while no other process does. f changes what was read
// and saves it, as often as it likes.
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

// Read reads without the lock. Where there is no ledger, content is left as it is.
func (l File) Read(content any) error {
	file, err := os.OpenFile(l.Path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		// Earlier versions wrote some in place: one that was killed left an empty file, or
		// after the new text the end of the old.
		err = errors.Join(json.NewDecoder(file).Decode(content), file.Close())
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", l.Path, err)
	}
	return nil
}

// Write replaces the ledger, for a caller that has another lock.
func (l File) Write(content any) error {
	err := inFolder(l.Path, func() error { return replace.JSON(l.Path, content, l.Mode) })
	if err != nil {
		return fmt.Errorf("write %s: %w", l.Path, err)
	}
	return nil
}

// Remove removes the ledger, what a killed process had half written of it, and the folder
// if it is empty then. Nothing of that needs to be there.
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

// unlock leaves nothing of a ledger that nobody needs any more.
func (l File) unlock(lock *flock.Lock) {
	if _, err := os.Lstat(l.Path); !errors.Is(err, fs.ErrNotExist) {
		_ = lock.Free()
		return
	}
	_ = l.Remove()
	_ = lock.Remove()
	_ = os.Remove(filepath.Dir(l.Path))
}

// inFolder makes a file's folder and runs f. Whoever removes the last thing in the folder
// may remove it in between; os.MkdirAll then says that it exists, or that it does not.
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
