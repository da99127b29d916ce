package testbed

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// a:x ──veth── b:x    b is a container whose systemd has CPU 0, and its engine CPU 1
const systemdLab = `
name: tbsystemd
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: lxc, cpu_list: 0-1, rootfs: {kind: debian, init: systemd}, app: {kind: reflect}}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`

// TestSystemd: a container's systemd is up when the lab is, keeps to the container's
// first CPU with all that it starts, and leaves the others to what nines starts, which is
// in a group that systemd leaves alone. NINES_CACHE_DIR may name a folder that has the
// file system already.
func TestSystemd(t *testing.T) {
	labtest.Root(t)
	lxc(t)
	if os.Getenv("NINES_CACHE_DIR") == "" {
		_, err := exec.LookPath("debootstrap")
		labtest.Require(t, "debootstrap", err == nil)
		t.Setenv("NINES_CACHE_DIR", t.TempDir())
	}
	p := planOf(t, systemdLab)
	lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(systemdLab)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Down(context.Background()); err != nil {
			t.Error(err)
		}
		if left := leaks(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}()
	state := in(t, lab, "b", "sh", "-c", "systemctl is-system-running || true")
	if state != "running" && state != "degraded" {
		t.Errorf("systemd is %s", state)
	}
	// Each thread: what it is, its CPUs, its group.
	const threads = `for t in /proc/[0-9]*/task/[0-9]*; do
		echo $(cat $t/comm) $(grep Cpus_allowed_list $t/status | cut -f2) $(grep -E '(^0:|name=systemd):' $t/cgroup | tail -1 | cut -d: -f3); done`
	found := map[string]bool{}
	for line := range strings.Lines(in(t, lab, "b", "sh", "-c", threads)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue // it ended meanwhile
		}
		name, cpus, group := fields[0], fields[1], fields[2]
		want := "0"
		switch {
		case name == "nines-serve":
			want = "1"
		case name == "sh" || name == "cat" || name == "cut" || name == "grep":
			want = "0-1"
		case name == "nines-init":
			continue // only holds the group
		}
		if cpus != want {
			t.Errorf("%s has the CPUs %s, want %s", name, cpus, want)
		}
		inWorkload := strings.HasPrefix(group, "/nines.slice/")
		if ours := name == "nines-serve" || name == "nines-engine" || name == "sh"; ours != inWorkload {
			t.Errorf("%s is in %s", name, group)
		}
		found[name] = true
	}
	for _, name := range []string{"systemd", "systemd-journal", "nines-engine", "nines-serve", "sh"} {
		if !found[name] {
			t.Errorf("%s does not run there", name)
		}
	}
}
