package labtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// filesVariable is set in the process that WithoutFiles starts.
const filesVariable = "NINES_TEST_WITHOUT_FILES"

// WithoutFiles runs what a test does without a free file descriptor, after prepare, in a process of
// its own: the limit holds for all of a process.
func WithoutFiles(t *testing.T, prepare, do func()) {
	t.Helper()
	if os.Getenv(filesVariable) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), filesVariable+"=1")
		if said, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
			t.Errorf("%v: %s", err, said)
		}
		return
	}
	prepare()
	// With a limit of 0 no new descriptor can be had; those that are open stay.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	do()
}
