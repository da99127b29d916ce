package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// a:x ──veth── b:x    b is a container whose systemd has its first CPU, its engine the second
const systemdLab = `
name: tbsystemd
isolation: %s
topology:
  nodes:
    a: {runtime: netns}
    b: {runtime: lxc, cpu_list: %d-%d, rootfs: {kind: debian, init: systemd}, app: {kind: reflect}}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`

// TestSystemd: a container's systemd is up when the lab is. It and its services stay on the
// container's first CPU and leave the others to what nines starts, which is in a group that systemd
// does not change. NINES_CACHE_DIR may name a folder that already has the file system.
func TestSystemd(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	if os.Getenv("NINES_CACHE_DIR") == "" {
		_, err := exec.LookPath("mmdebstrap")
		labtest.Require(t, "mmdebstrap", err == nil)
		t.Setenv("NINES_CACHE_DIR", t.TempDir())
	}
	testSystemd(t, spec.IsolationAffinity, 0)
}

// The laboratory's own file system replaces the one that mmdebstrap makes.
func TestLabSystemd(t *testing.T) {
	labtest.LongForm(t) // TestSystemd has it on the host
	labtest.VirtualLab(t, labtest.BootNew, labtest.BootMain, labtest.BootIsolated)
	labtest.Root(t)
	cache := t.TempDir()
	t.Setenv("NINES_CACHE_DIR", cache)
	out, err := exec.Command("sh", "-c", ". /etc/os-release; echo debian-$VERSION_CODENAME-$(dpkg --print-architecture)-systemd").Output()
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(cache, strings.TrimSpace(string(out)))
	if err := errors.Join(os.Mkdir(tree, 0o755), unix.Mount("/", tree, "", unix.MS_BIND, "")); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(tree, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	// The laboratory's services do not belong in a container: LXC's waits half a minute for a
	// network.
	for _, unit := range []string{"lxc.service", "lxc-net.service", "dpdk.service", "openvswitch-switch.service", "ovsdb-server.service", "ovs-vswitchd.service"} {
		path := filepath.Join("/etc/systemd/system", unit)
		if err := os.Symlink("/dev/null", path); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
	}
	for _, isolation := range []spec.Isolation{spec.IsolationAffinity, spec.IsolationIsolated} {
		t.Run(string(isolation), func(t *testing.T) { testSystemd(t, isolation, 2) })
	}
}

// Where cgroup v2 is not mounted, a lab with systemd is refused before anything is made.
func TestLabSystemdWantsVersion2(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootV1)
	labtest.Root(t)
	err := Check(labs.Plan(t, fmt.Sprintf(systemdLab, spec.IsolationAffinity, 2, 3)))
	var missing *exit.MissingError
	if !errors.As(err, &missing) || missing.Capability != "cgroup version 2" {
		t.Errorf("Check says %v", err)
	}
}

// testSystemd is for a container with two CPUs from first on.
func testSystemd(t *testing.T, isolation spec.Isolation, first int) {
	text := fmt.Sprintf(systemdLab, isolation, first, first+1)
	services, engine := strconv.Itoa(first), strconv.Itoa(first+1)
	p := labs.Plan(t, text)
	lab, err := Up(context.Background(), UpOptions{Plan: p, Experiment: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Down(context.Background()); err != nil {
			t.Error(err)
		}
		if left := traces.Left(t, p.Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}()
	state := in(t, lab, "b", "sh", "-c", "systemctl is-system-running || true")
	if state != "running" && state != "degraded" {
		t.Errorf("systemd is %s", state)
	}
	// What the kernel tells who traces it is the host's, and systemd mounts it where it may.
	if mounts := in(t, lab, "b", "sh", "-c", "grep -E ' (debugfs|tracefs) ' /proc/mounts || true"); mounts != "" {
		t.Errorf("it shows %s", mounts)
	}
	// The service's thread gives itself its name, for which it may have to wait on a busy host.
	labtest.Eventually(t, "the service's thread has its name", func() bool {
		return slices.ContainsFunc(nodeThreads(t, lab, "b"), func(fields []string) bool { return fields[0] == "nines-serve" })
	})
	found := map[string]bool{}
	for _, fields := range nodeThreads(t, lab, "b") {
		name, cpus, group := fields[0], fields[1], fields[2]
		want := services
		switch {
		case name == "nines-serve":
			want = engine
		case name == "sh" || name == "cat" || name == "cut" || name == "grep":
			want = services + "-" + engine
		case name == "nines-init":
			continue // it only holds the group
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
	restartsWithSystemd(t, lab)
}

// nodeThreads are a node's threads: of each its name, its CPUs, its group.
func nodeThreads(t *testing.T, lab *Lab, node string) (threads [][]string) {
	t.Helper()
	const script = `for t in /proc/[0-9]*/task/[0-9]*; do
		echo $(cat $t/comm) $(grep Cpus_allowed_list $t/status | cut -f2) $(grep -E '(^0:|name=systemd):' $t/cgroup | tail -1 | cut -d: -f3); done`
	for line := range strings.Lines(in(t, lab, node, "sh", "-c", script)) {
		if fields := strings.Fields(line); len(fields) == 3 { // others ended meanwhile
			threads = append(threads, fields)
		}
	}
	return threads
}

// restartsWithSystemd: systemd stops its services before a container is restarted, and starts them
// after; with Kill it does not.
func restartsWithSystemd(t *testing.T, lab *Lab) {
	t.Helper()
	in(t, lab, "b", "sh", "-c", `printf '[Service]\nExecStart=/bin/sleep 100000\nExecStop=/bin/sh -c "echo stopped >>/stopped"\n' \
		>/etc/systemd/system/told.service && systemctl daemon-reload`)
	for _, c := range []struct {
		kill bool
		said string
	}{{false, "stopped"}, {true, "stopped"}, {false, "stopped\nstopped"}} {
		in(t, lab, "b", "sh", "-c", "systemctl start told.service")
		pid := lab.PID("b")
		if err := lab.Restart(context.Background(), []string{"b"}, RestartOptions{Kill: c.kill}); err != nil {
			t.Fatal(err)
		}
		if lab.PID("b") == pid {
			t.Error("the container was not restarted")
		}
		if got := in(t, lab, "b", "cat", "/stopped"); got != c.said {
			t.Errorf("kill %v: its services said %q, want %q", c.kill, got, c.said)
		}
		if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
			t.Errorf("after a restart: %v, %v", faults, err)
		}
	}
}
