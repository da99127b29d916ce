package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/script/wire"
	"nines.dev/nines/test/labtest"
)

// joined is both sides, with the node's folder.
func joined(t *testing.T) (folder string, nines net.Listener, ended chan error) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "scripts")
	here, there := net.Pipe()
	ended = make(chan error, 1)
	go func() { ended <- Serve(folder, "/the/command", there) }()
	nines, err := Listen(here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nines.Close() })
	return folder, nines, ended
}

func dial(t *testing.T, folder string) *net.UnixConn {
	t.Helper()
	conn, err := net.Dial("unix", filepath.Join(folder, wire.SocketFile))
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*net.UnixConn)
}

func TestCallsReachNinesSideBySide(t *testing.T) {
	folder, nines, _ := joined(t)
	for _, name := range []string{wire.Command, "nines-node", "pos_sync"} {
		if target, err := os.Readlink(filepath.Join(folder, name)); err != nil || target != "/the/command" {
			t.Errorf("%s is %q, %v", name, target, err)
		}
	}
	first := dial(t, folder)
	defer first.Close()
	if _, err := io.WriteString(first, "wait\n"); err != nil {
		t.Fatal(err)
	}
	waits, err := nines.Accept()
	if err != nil {
		t.Fatal(err)
	}
	// While one waits another comes, with more than a stream's window holds.
	const long = 1 << 20
	second := dial(t, folder)
	defer second.Close()
	go func() {
		_, _ = io.WriteString(second, strings.Repeat("x", long))
		_ = second.CloseWrite()
	}()
	uploads, err := nines.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(uploads); err != nil || len(text) != long {
		t.Errorf("of an upload %d bytes came, %v", len(text), err)
	}
	for _, c := range []struct {
		nines  net.Conn
		caller net.Conn
	}{{uploads, second}, {waits, first}} {
		if _, err := io.WriteString(c.nines, "answer\n"); err != nil {
			t.Error(err)
		}
		_ = c.nines.Close()
		if text, err := io.ReadAll(c.caller); err != nil || string(text) != "answer\n" {
			t.Errorf("the caller got %q, %v", text, err)
		}
	}
}

// TestACallerThatGoesIsSeen, and one that is answered before it has said all.
func TestACallerThatGoesIsSeen(t *testing.T) {
	folder, nines, _ := joined(t)
	caller := dial(t, folder)
	if _, err := io.WriteString(caller, "wait\n"); err != nil {
		t.Fatal(err)
	}
	conn, err := nines.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = caller.Close()
	if text, err := io.ReadAll(conn); err != nil || string(text) != "wait\n" {
		t.Errorf("nines read %q, %v", text, err)
	}
	_ = conn.Close()

	caller = dial(t, folder)
	defer caller.Close()
	if conn, err = nines.Accept(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "no\n"); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	for err = nil; err == nil; { // it sends until nobody listens
		_, err = io.WriteString(caller, strings.Repeat("x", 1<<16))
	}
	text := make([]byte, 3)
	if _, err := io.ReadFull(caller, text); err != nil || string(text) != "no\n" {
		t.Errorf("the answer is %q, %v", text, err)
	}
}

// TestItEndsWithEitherSide.
func TestItEndsWithEitherSide(t *testing.T) {
	folder, nines, ended := joined(t)
	caller := dial(t, folder)
	defer caller.Close()
	if _, err := nines.Accept(); err != nil {
		t.Fatal(err)
	}
	_ = nines.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(folder, wire.SocketFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := nines.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a session that has ended: %v", err)
	}
	if n, err := caller.Read(make([]byte, 1)); err == nil {
		t.Errorf("the caller reads %d bytes", n)
	}
}

// TestTheRelayOutlivesALackOfDescriptors: a script that opens too much does not cut the node off for good.
func TestTheRelayOutlivesALackOfDescriptors(t *testing.T) {
	folder, nines, _ := joined(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	caller := os.NewFile(uintptr(fd), "caller")
	defer caller.Close()
	labtest.WithoutFiles(t, func() {
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(folder, wire.SocketFile)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // it is refused meanwhile
	})
	if _, err := caller.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	stream, err := nines.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	said := make([]byte, 5)
	if _, err := io.ReadFull(stream, said); err != nil || string(said) != "hello" {
		t.Errorf("it passed %q, %v", said, err)
	}
}
