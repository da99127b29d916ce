package state

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

// lockPatience is how long a lock may be held without a living holder: a killed nines may have been
// starting a program, whose process holds the lock until its exec, some microseconds later.
const lockPatience = 2 * time.Second

// TakeLock locks the file at path, and makes it if necessary. The file has the holder's process id,
// for the message to others. It waits for a living holder for at most waitForLiving.
func TakeLock(path, lab string, waitForLiving time.Duration) (*flock.Lock, error) {
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
			return nil, explainReadOnly(fmt.Errorf("lock lab %q: %w", lab, err), filepath.Dir(path))
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

// registryPatience bounds the wait for processes that start or end a lab; they hold the registry
// for milliseconds.
const registryPatience = 10 * time.Second

// LockRegistry locks the list of labs, so that two labs that start at the same time see each
// other's names and prefixes.
func LockRegistry() (*flock.Lock, error) {
	if err := MakeFolderOfLabs(); err != nil {
		return nil, err
	}
	return TakeLock(filepath.Join(Root(), "lock"), "", registryPatience)
}

// MakeFolderOfLabs makes it, and the state folder, where this host has had no lab since it booted.
func MakeFolderOfLabs() error {
	err := os.MkdirAll(filepath.Join(Root(), "labs"), 0o755)
	if errors.Is(err, fs.ErrPermission) {
		return NeedRoot(err)
	}
	if err != nil {
		return explainReadOnly(fmt.Errorf("make the folder of labs: %w", err), Root())
	}
	return nil
}
