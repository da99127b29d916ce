package proc

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestAHandleTellsHowAProcessEnded: by an exit code, and by a signal.
func TestAHandleTellsHowAProcessEnded(t *testing.T) {
	for _, c := range []struct {
		what string
		end  func(Identity) error
		says func(unix.WaitStatus) bool
	}{
		{"SIGTERM, which the shell turns into 7", func(id Identity) error { return id.Signal(unix.SIGTERM) },
			func(s unix.WaitStatus) bool { return s.Exited() && s.ExitStatus() == 7 }},
		{"SIGKILL", func(id Identity) error { return id.Signal(unix.SIGKILL) },
			func(s unix.WaitStatus) bool { return s.Signaled() && s.Signal() == unix.SIGKILL }},
	} {
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
		h, err := id.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if status, known := h.Status(); known {
			t.Errorf("%s: a running process has ended with %v", c.what, status)
		}
		if err := c.end(id); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		status, known := h.Status()
		if !known {
			var uts unix.Utsname
			_ = unix.Uname(&uts)
			labtest.Require(t, "a kernel that tells how a process ended (Linux 6.15), not "+unix.ByteSliceToString(uts.Release[:]), false)
		}
		if !c.says(status) {
			t.Errorf("%s: ended with %#x", c.what, uint32(status))
		}
		if _, err := id.Open(); !errors.Is(err, unix.ESRCH) {
			t.Errorf("%s: opening a process that has ended: %v", c.what, err)
		}
	}
}
