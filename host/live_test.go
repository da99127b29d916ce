package host

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAHostThatCannotBeReadLacksNothing: without file descriptors the host is not said to lack
// what could not be looked for.
func TestAHostThatCannotBeReadLacksNothing(t *testing.T) {
	if os.Getenv("NINES_TEST_WITHOUT_FILES") == "" {
		// In a process of its own: the limit holds for all of a process.
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), "NINES_TEST_WITHOUT_FILES=1")
		if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
			t.Errorf("%v: %s", err, said)
		}
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	_, err := Read()
	if !errors.Is(err, unix.EMFILE) || errors.As(err, new(*MissingError)) || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("got %v", err)
	}
}
