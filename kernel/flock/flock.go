// Package flock locks files and folders with flock(2). Only one process holds a lock at a
// time, and the kernel releases it when the process ends in any way. The lock is advisory:
// it does not stop processes that open the file without it.
package flock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/replace"
)

// Lock is a lock that is held.
type Lock struct {
	file   *os.File
	signed bool
}

// HeldError says that another process holds the lock: PID, or 0 if it has not signed.
type HeldError struct {
	Path string
	PID  int
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// Try locks the file at path, and creates it if needed; it does not follow a symbolic link.
// If another process has the lock, the error is a *HeldError.
func Try(path string) (*Lock, error) {
	return take(path, unix.LOCK_EX|unix.LOCK_NB)
}

// Wait is Try that waits for the lock until ctx ends.
func Wait(ctx context.Context, path string) (*Lock, error) {
	return wait(ctx, func(how int) (*Lock, error) { return take(path, how) })
}

// Folder locks an existing folder, so that the lock leaves no file behind.
func Folder(ctx context.Context, dir string) (*Lock, error) {
	return wait(ctx, func(how int) (*Lock, error) {
		file, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, err
		}
		return lock(file, how)
	})
}

// wait takes a lock. A wait in the kernel cannot be cancelled, so it is used only if ctx
// cannot end.
func wait(ctx context.Context, take func(how int) (*Lock, error)) (*Lock, error) {
	if ctx.Done() == nil {
		return take(unix.LOCK_EX)
	}
	var l *Lock
	err := await.Until(ctx, await.Condition{
		What: "a lock is free", Every: time.Millisecond, UpTo: 50 * time.Millisecond,
		Holds: func(context.Context) (err error) {
			if l, err = take(unix.LOCK_EX | unix.LOCK_NB); errors.As(err, new(*HeldError)) {
				return err
			}
			return await.Never(err)
		},
	})
	return l, err
}

// take opens and locks a file. The last holder may have removed the file before we got the
// lock: then take starts again.
func take(path string, how int) (*Lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		l, err := lock(file, how)
		if err != nil {
			return nil, err
		}
		held, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		there, err := os.Lstat(path)
		if err == nil && os.SameFile(held, there) {
			return l, nil
		}
		_ = file.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// lock locks an open file, or closes it on failure.
func lock(file *os.File, how int) (*Lock, error) {
	err := flock(file, how)
	if err == nil {
		return &Lock{file: file}, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = &HeldError{Path: file.Name(), PID: signature(file)}
	}
	return nil, errors.Join(err, file.Close())
}

// flock is flock(2), which a signal may interrupt.
func flock(file *os.File, how int) error {
	for {
		if err := unix.Flock(int(file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}

// IsHeld reports whether a process holds the lock of a file. It takes the lock for an
// instant, shared, so that two callers do not see each other. Only what is not there is
// certainly not held: any other error may come of a file that is.
func IsHeld(path string) (bool, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	err = flock(file, unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// Sign writes our process ID into the file, for processes that find it locked. On a full disk the
// lock goes without: an undo must work there.
func (l *Lock) Sign() error {
	err := l.file.Truncate(0)
	if err == nil {
		_, err = l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if replace.IsFull(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the lock: %w", err)
	}
	l.signed = true
	return nil
}

func signature(file *os.File) int {
	text := make([]byte, 16)
	n, _ := file.ReadAt(text, 0) // a folder has none
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Free releases the lock. The file stays, empty, which means that no process holds it for
// long.
func (l *Lock) Free() error {
	var err error
	if l.signed {
		err = l.file.Truncate(0)
	}
	return errors.Join(err, l.file.Close())
}

// Remove removes the file and releases the lock; a process that waits for it makes a new
// file.
func (l *Lock) Remove() error {
	return errors.Join(os.Remove(l.file.Name()), l.file.Close())
}
