package node

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestOnlyAProcessThatHasEndedIsInNoGroup: of one that cannot be looked at, nothing is known.
func TestOnlyAProcessThatHasEndedIsInNoGroup(t *testing.T) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	own := strings.SplitN(first, ":", 3)[2]
	if in, err := inGroup(os.Getpid(), strings.TrimSuffix(own, "/")); !in || err != nil {
		t.Errorf("this process is in %s: %v, %v", own, in, err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if in, err := inGroup(ended.Process.Pid, own); in || err != nil {
		t.Errorf("one that has ended: %v, %v", in, err)
	}
	labtest.WithoutFiles(t, func() {
		if in, err := inGroup(os.Getpid(), own); in || !errors.Is(err, unix.EMFILE) {
			t.Errorf("without file descriptors: %v, %v", in, err)
		}
	})
}
