package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long a lock may be held by nobody who lives: a killed nines
// may have been in the middle of starting a program, which holds the lock until
// its exec, some microseconds.
const lockPatience = 2 * time.Second

// lock is a held lock on a file, freed by the kernel when its holder ends.
type lock struct{ file *os.File }

// takeLock locks the file at path, making it if it is not there. The holder's
// process id is in it, for the message to others.
// A holder that lives is waited for only if the caller says so.
func takeLock(path, lab string, waitForLiving time.Duration) (*lock, error) {
	start := time.Now()
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock lab %q: %w", lab, err)
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && sameFile(file, path) {
			l := &lock{file}
			return l, l.sign()
		}
		// Locked, or removed by the holder before we got it: then there is a new one.
		holder := readPID(file)
		file.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock lab %q: %w", lab, err)
		}
		patience := lockPatience
		if holder > 0 && unix.Kill(holder, 0) == nil {
			patience = waitForLiving
		}
		if time.Since(start) >= patience {
			return nil, &BusyError{Name: lab, PID: holder}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (l *lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return errors.Join(err, l.free())
	}
	if _, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return errors.Join(fmt.Errorf("write the lock: %w", err), l.free())
	}
	return nil
}

// free lets the lock go. An empty file says that nobody holds it for long.
func (l *lock) free() error { return errors.Join(l.file.Truncate(0), l.file.Close()) }

func readPID(file *os.File) int {
	text := make([]byte, 16)
	n, _ := file.ReadAt(text, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

func sameFile(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}

// registryPatience bounds the wait for others that start or end a lab; they hold
// the registry for milliseconds.
const registryPatience = 10 * time.Second

// lockRegistry locks the list of labs, so that two that start at once see each
// other's names and prefixes.
func lockRegistry() (*lock, error) {
	dir := filepath.Join(Root(), "labs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, needRoot(err)
		}
		return nil, fmt.Errorf("make the folder of labs: %w", err)
	}
	return takeLock(filepath.Join(Root(), "lock"), "", registryPatience)
}

// isLocked tells whether a process holds a lock, by trying it for an instant; it
// tries to share it, so that two that ask do not see each other.
func isLocked(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}
