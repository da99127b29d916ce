package flock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestOneHasTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	isHeld := func() bool {
		t.Helper()
		held, err := IsHeld(path)
		if err != nil {
			t.Error(err)
		}
		return held
	}
	if isHeld() {
		t.Error("a file that is not there is locked")
	}
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := Try(path); !errors.As(err, &held) || held.PID != 0 {
		t.Errorf("a second one: %v", err)
	}
	if err := l.Sign(); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.As(err, &held) || held.PID != os.Getpid() || !isHeld() {
		t.Errorf("a second one: %v", err)
	}
	if err := l.Free(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 || isHeld() {
		t.Errorf("after it was freed: %v, %v", info, err)
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	for name, take := range map[string]func(context.Context) (*Lock, error){
		"file":   func(ctx context.Context) (*Lock, error) { return Wait(ctx, filepath.Join(dir, "lock")) },
		"folder": func(ctx context.Context) (*Lock, error) { return Folder(ctx, dir) },
	} {
		l, err := take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := take(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		time.AfterFunc(10*time.Millisecond, func() { _ = l.Free() })
		again, err := take(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Free(); err != nil {
			t.Error(err)
		}
	}
}

// TestARemovedLockIsNobodys: if the holder removes the file, each waiting process gets the
// lock of the file that exists then, one at a time.
func TestARemovedLockIsNobodys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				l, err := Wait(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if !inside.TryLock() {
					t.Error("two have the lock")
				} else {
					inside.Unlock()
				}
				if err := l.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("left: %v", err)
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("theirs", filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(filepath.Join(dir, "lock")); err == nil {
		t.Error("it was")
	}
	if _, err := os.Stat(filepath.Join(dir, "theirs")); !os.IsNotExist(err) {
		t.Errorf("what it leads to: %v", err)
	}
}
