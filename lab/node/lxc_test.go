package node

import (
	"os/exec"
	"path/filepath"
	"testing"

	"nines.dev/nines/kernel/proc"
)

// TestOnlyLXCsMonitorIsOne, with its title or before it has one, and not a user's program that names the
// container.
func TestOnlyLXCsMonitorIsOne(t *testing.T) {
	const lxcPath, name = "/state/labs/a/lxc", "a-dut"
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	starter := filepath.Join(t.TempDir(), lxcStarter)
	if out, err := exec.Command("cp", shell, starter).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		program   string
		arguments []string
		is        bool
	}{
		{shell, []string{"[lxc monitor] " + lxcPath + " " + name, "-c", "read x"}, true},
		{shell, []string{"[lxc monitor] " + lxcPath + " another", "-c", "read x"}, false},
		{starter, []string{lxcStarter, "-c", "read x", lxcStarter, "-P", lxcPath, "-n", name}, true},
		{starter, []string{lxcStarter, "-c", "read x", lxcStarter, "-P", lxcPath, "-n", "another"}, false},
		{shell, []string{"lxc-attach", "-c", "read x", "lxc-attach", "-P", lxcPath, "-n", name}, false},
		{shell, []string{"grep", "-c", "read x", "grep", "[lxc", "monitor]", lxcPath, name}, false},
	} {
		cmd := exec.Command(c.program)
		cmd.Args = c.arguments
		end, err := cmd.StdinPipe() // without which the shell ends
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		id, err := proc.Of(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		// The arguments can be read a moment after Start.
		for there := false; !there && err == nil; {
			there, err = id.HasArguments("read")
		}
		if is, wrong := isMonitor(id, lxcPath, name); err != nil || wrong != nil || is != c.is {
			t.Errorf("%q: %v, %v, %v", c.arguments, is, err, wrong)
		}
		if err := end.Close(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it ends without its line
	}
}
