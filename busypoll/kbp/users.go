package kbp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/kernel/ledger"
)

// UsersFile records who has loaded the module and not yet released it. It does not exist
// for a module loaded by hand, which is unloaded by hand, too.
const UsersFile = "/run/nines/kbp-module.json"

// users are the users in the file, by token.
type users []string

// Empty is true if there are no users.
func (u *users) Empty() bool { return len(*u) == 0 }

// withUsers runs f on the users under the file's lock.
func withUsers(path string, f func(u *users, save func() error) error) error {
	u := &users{}
	return ledger.File{Path: path, Mode: 0o600}.Change(u, func(save func() error) error { return f(u, save) })
}

// Acquire loads the module for a user, who is identified by a token; a module loaded by
// hand stays as it is. After an error nothing is left, or only what Release removes.
func Acquire(ctx context.Context, file, token string) error {
	return withUsers(file, func(u *users, save func() error) error {
		state, err := Now()
		if err != nil || state == Loaded && u.Empty() {
			return err
		}
		path, err := Loadable()
		if err != nil {
			return err
		}
		// Recorded first, so that Release unloads it even if we are killed
		// meanwhile.
		before := slices.Clone(*u)
		*u = append(*u, token)
		if err := save(); err != nil {
			return err
		}
		err = Load(ctx, path, nil)
		if err == nil {
			return nil
		}
		if now, wrong := Now(); state == Absent && (wrong != nil || now != Absent) {
			return err // unloading it failed, too: Release tries again
		}
		*u = before
		return errors.Join(err, save())
	})
}

// Release unloads the module if the token was its last user. It does nothing for an unknown
// token. It calls note if the module has to stay.
func Release(ctx context.Context, file, token string, note func(string)) error {
	return withUsers(file, func(u *users, save func() error) error {
		at := slices.Index(*u, token)
		if at < 0 {
			return nil
		}
		if len(*u) == 1 {
			threads, err := Threads()
			if err != nil {
				return err
			}
			if len(threads) > 0 {
				note(fmt.Sprintf("the module %s stays loaded: %d threads of other programs poll through it", Name, len(threads)))
			} else if err := Unload(ctx, nil); err != nil {
				return err // to be tried again
			}
		}
		*u = slices.Delete(*u, at, at+1)
		return save()
	})
}
