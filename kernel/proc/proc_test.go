package proc

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
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
	is := func(yes bool, err error) bool {
		if err != nil {
			t.Error(err)
		}
		return yes
	}
	for begun := time.Now(); !is(id.HasArguments("sleep", "60")) && time.Since(begun) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	if !is(id.Holds("nines-test:1")) || is(id.Holds("nines-test:")) || is(id.Holds("nines-test:2")) {
		t.Error("the token is not told from others")
	}
	if !is(id.HasArguments("60", "sleep")) || is(id.HasArguments("6")) {
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
	if err := Each(func(id Identity) error { found = found || id.PID == os.Getppid(); return nil }); err != nil || !found {
		t.Errorf("our parent is not among the processes: %v", err)
	}
}

// TestWhatCannotBeSeenIsNotForgotten: without a free file descriptor, a process that lives
// does not count as ended, and a search does not say that it found nothing.
func TestWhatCannotBeSeenIsNotForgotten(t *testing.T) {
	parent, err := Of(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	labtest.WithoutFiles(t, func() {
		if !parent.Alive() || !parent.InNamespaces() {
			t.Error("a living process counts as ended")
		}
		if err := parent.Signal(0); !errors.Is(err, unix.EMFILE) {
			t.Errorf("a signal that could not be sent: %v", err)
		}
		if _, err := parent.Holds("x"); !errors.Is(err, unix.EMFILE) {
			t.Errorf("looking for a token: %v", err)
		}
		if _, err := parent.HasArguments("x"); !errors.Is(err, unix.EMFILE) {
			t.Errorf("looking for arguments: %v", err)
		}
		if err := Each(func(Identity) error { return nil }); !errors.Is(err, unix.EMFILE) {
			t.Errorf("looking for processes: %v", err)
		}
	})
}

func TestCPUTicksAreThoseOfTheProcess(t *testing.T) {
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before := self.CPUTicks()
	for self.CPUTicks() == before { // this takes time of its CPU
	}
	// What it has waited for counts, too: a tenth of a second at the least.
	before = self.CPUTicks()
	spin := exec.Command("sh", "-c", "ulimit -t 1; while :; do :; done")
	if err := spin.Run(); err == nil {
		t.Fatal("it was not ended for the CPU time that it used")
	}
	if used := self.CPUTicks() - before; used < 50 {
		t.Errorf("a child used a second, and %d ticks are told", used)
	}
	other := Identity{PID: self.PID, StartTicks: self.StartTicks + 1}
	if ticks := other.CPUTicks(); ticks != 0 {
		t.Errorf("another process of that ID used %d ticks", ticks)
	}
}
