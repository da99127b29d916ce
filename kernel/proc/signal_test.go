package proc

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCatches: a shell catches what it has a trap for, and a process that has ended nothing.
func TestCatches(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !id.Catches(unix.SIGTERM) || id.Catches(unix.SIGUSR1) {
		t.Errorf("SIGTERM: %v, SIGUSR1: %v", id.Catches(unix.SIGTERM), id.Catches(unix.SIGUSR1))
	}
	self, err := Of(unix.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if id.PIDInode() == 0 || id.PIDInode() != self.PIDInode() {
		t.Errorf("the PID namespaces are %d and ours %d", id.PIDInode(), self.PIDInode())
	}
	if err := id.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if id.Catches(unix.SIGTERM) || id.PIDInode() != 0 {
		t.Error("a process that has ended catches a signal")
	}
}
