package node

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"nines.dev/nines/kernel/proc"
)

// TestAMachineThatClosesItsAgentHasTimeToEnd: a reader may find the other end of a socket closed before the
// process has ended, and boots the machine again only after the end.
func TestAMachineThatClosesItsAgentHasTimeToEnd(t *testing.T) {
	cmd := exec.Command("cat") // ends with its input
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = input.Close(), cmd.Wait() })
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if hasEnded(id, timeToEnd(errors.New("the guest speaks another protocol"))) {
		t.Error("a process that goes on has ended")
	}
	reset := resetConnection(t)
	time.AfterFunc(2*time.Second, func() { _ = input.Close() })
	if !hasEnded(id, timeToEnd(fmt.Errorf("the guest does not answer: %w", reset))) {
		t.Error("nobody waited for a process to end that had closed its socket")
	}
}

// resetConnection is the error of who reads from a socket whose other end has gone without reading all.
func resetConnection(t *testing.T) error {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "agent"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	caller, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	if _, err := caller.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = other.Close()
	if err := caller.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = caller.Read(make([]byte, 1))
	return err
}
