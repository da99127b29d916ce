package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnEngineThatIsAboutToListenIsAwaited: its socket exists and refuses. The socket of an
// engine that has ended refuses too, and is not waited for.
func TestAnEngineThatIsAboutToListenIsAwaited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	// As in the middle of bind(2), the file is there and no process has it.
	early, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.Bind(early, &unix.SockaddrUnix{Name: path}), unix.Close(early)); err != nil {
		t.Fatal(err)
	}
	dialled := make(chan error, 1)
	go func() {
		conn, err := dialEngine(path)
		if err == nil {
			err = conn.Close()
		}
		dialled <- err
	}()
	select {
	case err := <-dialled:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := errors.Join(os.Remove(path), unix.Bind(fd, &unix.SockaddrUnix{Name: path})); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-dialled:
		t.Fatalf("it did not wait for listen(2): %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Fatal(err)
	}
	if err := <-dialled; err != nil {
		t.Errorf("it listens: %v", err)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	if _, err := dialEngine(path); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("it has ended: %v", err)
	}
}
