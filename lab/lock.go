package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/flock"
)

// lockPatience is how long a lock may be held by nobody who lives: a killed nines
// may have been in the middle of starting a program, which holds the lock until
// its exec, some microseconds.
const lockPatience = 2 * time.Second

// takeLock locks the file at path, making it if it is not there. The holder's
// process id is in it, for the message to others.
// A holder that lives is waited for only if the caller says so.
func takeLock(path, lab string, waitForLiving time.Duration) (*flock.Lock, error) {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		l, err := flock.Try(path)
		var held *flock.HeldError
		switch {
		case err == nil:
			if err := l.Sign(); err != nil {
				return nil, errors.Join(err, l.Free())
			}
			return l, nil
		case !errors.As(err, &held):
			return nil, fmt.Errorf("lock lab %q: %w", lab, err)
		}
		patience := lockPatience
		if held.PID > 0 && unix.Kill(held.PID, 0) == nil {
			patience = waitForLiving
		}
		if time.Since(start) >= patience {
			return nil, &BusyError{Name: lab, PID: held.PID}
		}
	}
}

// registryPatience bounds the wait for others that start or end a lab; they hold
// the registry for milliseconds.
const registryPatience = 10 * time.Second

// lockRegistry locks the list of labs, so that two that start at once see each
// other's names and prefixes.
func lockRegistry() (*flock.Lock, error) {
	dir := filepath.Join(Root(), "labs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, needRoot(err)
		}
		return nil, fmt.Errorf("make the folder of labs: %w", err)
	}
	return takeLock(filepath.Join(Root(), "lock"), "", registryPatience)
}
