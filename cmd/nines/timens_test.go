package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestALabGoesDownFromAnotherTimeNamespace: clocks there show another start of each process.
func TestALabGoesDownFromAnotherTimeNamespace(t *testing.T) {
	labtest.Guarantee(t)
	s := newShell(t)
	_, err := os.Stat("/proc/self/ns/time")
	labtest.Require(t, "time namespaces", err == nil)
	file := s.file("shifted", "1s")
	within := func(arguments ...string) *exec.Cmd {
		cmd := exec.Command("unshare", append([]string{"--time", "--fork", "--boottime", "5000", s.binary}, arguments...)...)
		cmd.Dir = s.dir
		return cmd
	}
	for _, pair := range [][2]func(...string) *exec.Cmd{{within, s.command}, {s.command, within}} {
		up, down := pair[0], pair[1]
		if out, err := up("up", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := down("check", "shifted").CombinedOutput(); err != nil || !strings.Contains(string(out), "as planned") {
			t.Errorf("check: %v: %s", err, out)
		}
		if out, err := down("down", "shifted").CombinedOutput(); err != nil {
			t.Errorf("down: %v: %s", err, out)
		}
	}
	if labs := list(t, s); len(labs) != 0 {
		t.Errorf("left: %+v", labs)
	}
}
