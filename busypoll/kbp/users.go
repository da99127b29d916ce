package kbp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/kernel/ledger"
)

// UsersFile notes who has had the module loaded, and not yet released it. It is not there
// for a module that somebody has loaded by hand, who takes it out as well.
const UsersFile = "/run/nines/kbp-module.json"

// users are those in the file, by their tokens.
type users []string

// Empty is true if nobody has had the module loaded.
func (u *users) Empty() bool { return len(*u) == 0 }

// withUsers runs f on the users while no other process does.
func withUsers(path string, f func(u *users, save func() error) error) error {
	u := &users{}
	return ledger.File{Path: path, Mode: 0o600}.Change(u, func(save func() error) error { return f(u, save) })
}

// Acquire has the module loaded for a user, who is named by a token; what is loaded by
// hand stays so. An error leaves nothing behind, or what Release takes out.
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
		// Noted before, so that it is taken out also if we are killed meanwhile.
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
			return err // it could not be taken out again: Release tries
		}
		*u = before
		return errors.Join(err, save())
	})
}

// Release takes the module out of the kernel if the token's was the last to have it
// loaded. It does nothing for a token that has not, or no longer. note is told if the
// module has to stay.
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
