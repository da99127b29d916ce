package link

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestOnlyAStaleSocketIsRemoved(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "nines") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, file := filepath.Join(dir, "s"), filepath.Join(dir, "file")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	open, err := listeners("/proc/self/net/unix")
	if err != nil || !open[socket] {
		t.Errorf("the kernel does not list the socket: %v", err)
	}
	if err := os.WriteFile(file, []byte("a user's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{socket: false, file: true, filepath.Join(dir, "nothing"): false} {
		if err := RemoveStaleSocket(path); (err != nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestASocketWithoutItsFileIsNobodys has a listener whose file is gone, like that of a program that
// was just killed.
func TestASocketWithoutItsFileIsNobodys(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "nines")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ready := (&Site{Fabric: Holder{PID: os.Getpid()}}).Listening(path)
	if err := ready(t.Context()); err != nil {
		t.Errorf("it listens, and %v", err)
	}
	if err := RemoveStaleSocket(path); err != nil {
		t.Fatal(err)
	}
	if err := ready(t.Context()); err == nil {
		t.Error("ready, though nobody can connect")
	}
}

func TestAPathThatTheKernelWouldCut(t *testing.T) {
	if err := CheckSocketPath("/" + strings.Repeat("p", 106)); err != nil {
		t.Errorf("107 bytes: %v", err)
	}
	if err := CheckSocketPath("/" + strings.Repeat("p", 107)); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "NINES_STATE_DIR") {
		t.Errorf("108 bytes: %v", err)
	}
}

func TestBothEndsOfMemifMeetAtTheFirstSocket(t *testing.T) {
	l := plan.Link{Kind: spec.LinkMemif, Endpoints: []plan.Endpoint{{Node: "a", Socket: "l.0"}, {Node: "b", Socket: "l.1"}}}
	if got := SocketOf(l, l.Endpoints[1]); got != "l.0" {
		t.Errorf("the second end meets at %s", got)
	}
	l.Kind = spec.LinkSwitch
	if got := SocketOf(l, l.Endpoints[1]); got != "l.1" {
		t.Errorf("the second port of a switch is at %s", got)
	}
}

func TestAMissingProgramSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var missing *exit.MissingError
	if err := checkTestpmd(plan.Link{}); !errors.As(err, &missing) || missing.ExitCode() != 3 || !strings.Contains(err.Error(), "apt-get install dpdk") {
		t.Errorf("got %v", err)
	}
}
