package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestAnIdentityIsOneProcess(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), "TOKEN=nines-test:1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	other := Identity{PID: id.PID, StartTicks: id.StartTicks + 1}
	if !id.Alive() || other.Alive() {
		t.Errorf("alive: it %v, another with its process id %v", id.Alive(), other.Alive())
	}
	// Start returns when exec closes its files, shortly before the new arguments and
	// environment can be read.
	for begun := time.Now(); !id.HasArguments("sleep", "60") && time.Since(begun) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	if !id.Holds("nines-test:1") || id.Holds("nines-test:") || id.Holds("nines-test:2") {
		t.Error("the token is not told from others")
	}
	if !id.HasArguments("60", "sleep") || id.HasArguments("6") {
		t.Error("the arguments are not told from others")
	}
	if err := other.Signal(unix.SIGKILL); err != nil || !id.Alive() {
		t.Errorf("a signal for another reached it: %v", err)
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for id.Alive() { // a zombie counts as ended
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Errorf("a signal for one that has ended: %v", err)
	}
	found := false
	if err := Each(func(id Identity) { found = found || id.PID == os.Getppid() }); err != nil || !found {
		t.Errorf("our parent is not among the processes: %v", err)
	}
}
