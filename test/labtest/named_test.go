package labtest

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestANameIsOfOneProcess: a test of another process waits until the one that has the name has ended, and a
// subtest of the same process does not.
func TestANameIsOfOneProcess(t *testing.T) {
	Require(t, "root", os.Geteuid() == 0)
	t.Setenv("TMPDIR", t.TempDir()) // locks of their own
	ended := make(chan error, 1)
	t.Run("has it", func(t *testing.T) {
		Named(t, "tb")
		t.Run("and so has its part", func(t *testing.T) { Named(t, "tb") })
		other := exec.Command("/proc/self/exe", "-test.run=^TestTakesAName$")
		other.Env = append(os.Environ(), nameVariable+"=1")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- other.Wait() }()
		select {
		case err := <-ended:
			t.Fatalf("another process had the name at the same time: %v", err)
		case <-time.After(300 * time.Millisecond):
		}
	})
	if err := <-ended; err != nil {
		t.Errorf("the other process did not get the name: %v", err)
	}
}

// nameVariable has the process that the test above starts take a name.
const nameVariable = "NINES_TEST_NAME"

func TestTakesAName(t *testing.T) {
	OtherTest(t, os.Getenv(nameVariable) != "")
	Named(t, "tb")
}
