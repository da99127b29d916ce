package trace

import (
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFindThreadWithoutANamespaceOfPIDs: the engine of a host node is no descendant of the node's first process.
func TestFindThreadWithoutANamespaceOfPIDs(t *testing.T) {
	first := exec.Command("sleep", "60")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = first.Process.Kill() // it may have ended
		_ = first.Wait()
	})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, ok := ThreadOf(unix.Gettid())
	if !ok {
		t.Fatal("the test does not find its own thread")
	}
	found, err := FindThread(first.Process.Pid, own.inner, own.Name)
	if err != nil || found.TID != own.TID || found.PID != own.PID {
		t.Errorf("found %+v, want %+v: %v", found, own, err)
	}
	if _, err := FindThread(first.Process.Pid, own.inner, "another name"); err == nil {
		t.Error("a thread with another name was found")
	}
}
