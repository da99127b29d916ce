package kbp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// UsersFile notes who has had the module loaded, and not yet released it. It is not there
// for a module that somebody has loaded by hand, who takes it out as well.
const UsersFile = "/run/nines/kbp-module.json"

// Acquire has the module loaded for a user, who is named by a token; what is loaded by
// hand stays so. An error leaves nothing behind, or what Release
// takes out.
func Acquire(ctx context.Context, file, token string) error {
	return withUsers(file, func(users []string) ([]string, error) {
		state, err := Now()
		if err != nil {
			return users, err
		}
		if state == Loaded && len(users) == 0 {
			return nil, nil
		}
		path, err := Loadable()
		if err != nil {
			return users, err
		}
		// Noted before, so that it is taken out also if we are killed meanwhile.
		if err := writeUsers(file, append(slices.Clone(users), token)); err != nil {
			return users, err
		}
		if err := Load(ctx, path, nil); err != nil {
			if now, wrong := Now(); state == Absent && (wrong != nil || now != Absent) {
				users = append(users, token) // it could not be taken out again: Release tries
			}
			return users, err
		}
		return append(users, token), nil
	})
}

// Release takes the module out of the kernel if the token's was the last to have it
// loaded. It does nothing for a token that has not, or no longer. note is told if the
// module has to stay.
func Release(ctx context.Context, file, token string, note func(string)) error {
	return withUsers(file, func(users []string) ([]string, error) {
		at := slices.Index(users, token)
		if at < 0 {
			return users, nil
		}
		rest := slices.Delete(slices.Clone(users), at, at+1)
		if len(rest) > 0 {
			return rest, nil
		}
		threads, err := Threads()
		if err != nil {
			return users, err
		}
		if len(threads) > 0 {
			note(fmt.Sprintf("the module %s stays loaded: %d threads of others poll by it", Name, len(threads)))
			return nil, nil
		}
		if err := Unload(ctx, nil); err != nil {
			return users, err // to be tried again
		}
		return nil, nil
	})
}

// withUsers runs f on the users while no other process does, and keeps what it returns.
func withUsers(path string, f func(users []string) ([]string, error)) error {
	file, err := lockUsers(path)
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	defer file.Close()
	var users []string
	// What follows the list is of a longer one, if its writer was killed.
	if err := json.NewDecoder(file).Decode(&users); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", path, err)
	}
	users, err = f(users)
	if len(users) == 0 {
		return errors.Join(err, os.Remove(path))
	}
	return errors.Join(err, writeUsers(path, users))
}

// lockUsers opens and locks the file, made if it is not there: the one that has the name
// when the lock is had, as the last user removes it.
func lockUsers(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	for {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, err
		}
		for err = unix.EINTR; errors.Is(err, unix.EINTR); {
			err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
		}
		mine, statErr := file.Stat()
		named, nameErr := os.Stat(path)
		if err == nil && statErr == nil && nameErr == nil && os.SameFile(mine, named) {
			return file, nil
		}
		if err := errors.Join(err, statErr); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if nameErr != nil && !errors.Is(nameErr, fs.ErrNotExist) {
			return nil, errors.Join(nameErr, file.Close())
		}
		_ = file.Close() // another's, which is gone
	}
}

// writeUsers writes the file in place, as its inode is the lock, and cuts it off afterwards,
// so that it is never empty: the module would pass for one that was loaded by hand.
func writeUsers(path string, users []string) error {
	text, err := json.Marshal(users)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	_, err = file.WriteAt(text, 0)
	if err == nil {
		err = file.Truncate(int64(len(text)))
	}
	return errors.Join(err, file.Close())
}
