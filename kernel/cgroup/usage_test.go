package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"nines.dev/nines/test/labtest"
)

// TestTheCPUTimeOfAGroup has a process in a group of its own count in vain. What it has used is in its group, also once it
// has ended.
func TestTheCPUTimeOfAGroup(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	hierarchies, err := Mounted()
	if err != nil {
		t.Fatal(err)
	}
	made := ""
	for _, h := range hierarchies {
		if h.Has("cpuacct") || h.Version == 2 && made == "" {
			made = filepath.Join(h.Mount, "nines-test-usage-"+strconv.Itoa(os.Getpid()))
			if h.Has("cpuacct") {
				break
			}
		}
	}
	labtest.Require(t, "control groups that count CPU time", made != "")
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(made); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("sh", "-c", "read go; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read end")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // before the group is removed
	t.Cleanup(func() { _ = in.Close() })
	if err := os.WriteFile(filepath.Join(made, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	before, err := CPUTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if after, err := CPUTime(cmd.Process.Pid); err != nil || after <= before || after > time.Hour {
		t.Errorf("its group has used %s, and %s before: %v", after, before, err)
	}
}

// TestTheRootGroupIsNoOnesOwn: its CPU time is that of the whole machine.
func TestTheRootGroupIsNoOnesOwn(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	const kthreadd = 2 // no kernel thread leaves the root group
	if name, _ := os.ReadFile("/proc/2/comm"); string(name) != "kthreadd\n" {
		labtest.Require(t, "the host's process IDs", false)
	}
	if used, err := CPUTime(kthreadd); !errors.Is(err, ErrRoot) {
		t.Errorf("%s, %v", used, err)
	}
}

func TestWhatGroupsWriteOfCPUTime(t *testing.T) {
	if used, err := parseStat("usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n"); err != nil || used != 1500*time.Microsecond {
		t.Errorf("%s, %v", used, err)
	}
	if used, err := parseUsage("2000\n"); err != nil || used != 2*time.Microsecond {
		t.Errorf("%s, %v", used, err)
	}
	for _, wrong := range []string{"", "nr_periods 0\n", "usage_usec x\n"} {
		if used, err := parseStat(wrong); err == nil {
			t.Errorf("%q is %s", wrong, used)
		}
		if used, err := parseUsage(wrong); err == nil {
			t.Errorf("%q is %s", wrong, used)
		}
	}
}
