package proc

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAwaitEnd ends with the process, and with its context while the process runs.
func TestAwaitEnd(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := id.AwaitEnd(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("a process that runs: %v", err)
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := id.AwaitEnd(t.Context()); err != nil { // a zombie counts as ended
		t.Errorf("a process that was killed: %v", err)
	}
}
