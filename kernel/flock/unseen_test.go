package flock_test

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/test/labtest"
)

// TestALockThatCannotBeSeenIsNotFree: without a free file descriptor nobody can tell.
func TestALockThatCannotBeSeenIsNotFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := flock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	labtest.WithoutFiles(t, func() {
		if held, err := flock.IsHeld(path); !errors.Is(err, unix.EMFILE) {
			t.Errorf("held: %v, %v", held, err)
		}
	})
	if held, err := flock.IsHeld(path); !held || err != nil {
		t.Errorf("held: %v, %v", held, err)
	}
	if err := l.Remove(); err != nil {
		t.Error(err)
	}
}
