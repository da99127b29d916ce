package thread

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asCalled makes this test program print how a program that it starts is scheduled, once it has called Ordinary.
const asCalled = "NINES_TEST_ORDINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asCalled) == "" {
		os.Exit(m.Run())
	}
	if err := Ordinary(); err != nil {
		println(err.Error())
		if errors.Is(err, unix.EPERM) {
			os.Exit(3)
		}
		os.Exit(1)
	}
	out, err := exec.Command("chrt", "-p", "0").CombinedOutput()
	nice, other := exec.Command("nice").CombinedOutput()
	println(strings.TrimSpace(string(out)), "nice", strings.TrimSpace(string(nice)))
	if errors.Join(err, other) != nil {
		os.Exit(1)
	}
}

// TestTheCallersSchedulingIsLeft: what a process starts is scheduled as any other, however it was started itself.
func TestTheCallersSchedulingIsLeft(t *testing.T) {
	for _, call := range [][]string{{"nice", "-n", "7"}, {"chrt", "--idle", "0"}, {"chrt", "--batch", "0"}, {"chrt", "--fifo", "1"}, {"env"}} {
		cmd := exec.Command(call[0], append(call[1:], os.Args[0])...)
		cmd.Env = append(os.Environ(), asCalled+"=1")
		said, err := cmd.CombinedOutput()
		ended := new(exec.ExitError)
		switch text := string(said); {
		case errors.As(err, &ended) && (ended.ExitCode() == 3 || strings.Contains(text, "failed to set")):
			// Not as root: only it may leave niceness 7, or take a real-time policy.
			if os.Geteuid() == 0 && !strings.Contains(text, "failed to set") {
				t.Errorf("%v: root may not: %s", call, text)
			}
		case err != nil || !strings.Contains(text, "SCHED_OTHER") || !strings.Contains(text, "nice 0"):
			if os.Geteuid() == 0 || call[0] != "env" { // a user's tests may be run by nice(1) themselves
				t.Errorf("%v: %v, %s", call, err, text)
			}
		}
	}
}
