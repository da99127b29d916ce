package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// walledLab is two nodes of a runtime whose engines reflect, the second of them privileged.
//
//	a:x ──veth── b:x
func walledLab(t testing.TB, name, runtime string) string {
	t.Helper()
	return fmt.Sprintf(`
name: %s
topology:
  nodes:
    a: {%s, app: {kind: reflect, backend: udp}}
    b: {%[2]s, app: {kind: reflect, backend: udp}, privileged: true}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`, name, keysOf(t, runtime))
}

// keysOf are the keys of a node of a runtime; "oci-runc" is the runtime oci with a driver.
func keysOf(t testing.TB, runtime string) string {
	driver, found := strings.CutPrefix(runtime, "oci-")
	if !found {
		return "runtime: " + runtime
	}
	return fmt.Sprintf("runtime: oci, driver: %s, init: nines, image: %q", driver, labs.OCIImage(t, v1.Config{}))
}

// needRuntime skips a test without what a runtime takes.
func needRuntime(t *testing.T, runtime string) {
	t.Helper()
	driver, isOCI := strings.CutPrefix(runtime, "oci-")
	switch {
	case isOCI:
		labs.NeedOCIDriver(t, driver)
	case runtime == "lxc":
		labs.NeedLXC(t)
	}
}

// forRuntimes runs a test with each runtime whose nodes have walls.
func forRuntimes(t *testing.T, test func(t *testing.T, runtime string)) {
	runtimes := []string{"netns", "lxc", "oci-runc"}
	if labtest.Long() {
		for _, driver := range labs.OCIManagers {
			runtimes = append(runtimes, "oci-"+driver)
		}
	}
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			labtest.Root(t)
			needRuntime(t, runtime)
			test(t, runtime)
		})
	}
}

// rights are the lines of a proc_pid_status(5) file that say what a process may do.
func rights(t *testing.T, status string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "CapBnd", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Seccomp":
			found[key] = strings.TrimSpace(value)
		}
	}
	if len(found) != 6 {
		t.Fatalf("the status has only %v", found)
	}
	return found
}

func rightsOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return rights(t, string(text))
}

// enginesOf are the engines in the pid namespace of a node.
func enginesOf(t *testing.T, first int) []int {
	t.Helper()
	namespace := func(pid int) string {
		link, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
		return link
	}
	var pids []int
	err := proc.Each(func(id proc.Identity) error {
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id.PID))
		if strings.TrimSpace(string(name)) == "nines-engine" && namespace(id.PID) == namespace(first) {
			pids = append(pids, id.PID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// These are CapBnd of processes in a node, by the numbers of capabilities(7): Docker's default and net_admin,
// without mknod and setfcap where the files are the host's, and what the engine needs.
const (
	boundOfPrograms = 0xa80435fb
	boundOnHost     = 0x200435fb
	boundOfEngine   = 0xc001807402
)

// within is a set of capabilities without those that the host's root lacks.
func within(t *testing.T, set uint64, host string) string {
	t.Helper()
	own, err := strconv.ParseUint(host, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%016x", set&own)
}

// TestWhatEntersANodeHasTheNodesRights: a command has no more than the node's first process, which has no more
// than Docker gives, or, where it is privileged, all that root has. The engine has what it needs.
func TestWhatEntersANodeHasTheNodesRights(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		lab := up(t, walledLab(t, "tbrights"+runtime, runtime))
		host := rightsOf(t, os.Getpid())
		for _, node := range []string{"a", "b"} {
			first := rightsOf(t, lab.PID(node))
			command := rights(t, in(t, lab, node, "cat", "/proc/self/status"))
			engines := enginesOf(t, lab.PID(node))
			if len(engines) != 1 {
				t.Fatalf("node %s has %d engines", node, len(engines))
			}
			engine := rightsOf(t, engines[0])
			for key, want := range first {
				if command[key] != want {
					t.Errorf("node %s, %s: its first process has %s, a command %s", node, key, want, command[key])
				}
			}
			walled := node == "a"
			bounds := [2]string{within(t, boundOfPrograms, host["CapBnd"]), within(t, boundOfEngine, host["CapBnd"])}
			switch {
			case !walled:
				bounds = [2]string{host["CapBnd"], host["CapBnd"]}
			case runtime == "netns":
				bounds[0] = within(t, boundOnHost, host["CapBnd"])
			}
			if got := [2]string{first["CapBnd"], engine["CapBnd"]}; got != bounds || engine["Seccomp"] != "0" {
				t.Errorf("node %s: its first process and its engine have %v, want %v; seccomp has the mode %s", node, got, bounds, engine["Seccomp"])
			}
			if all := first["CapBnd"] == host["CapBnd"]; all == walled {
				t.Errorf("node %s has the capabilities %s, and root %s", node, first["CapBnd"], host["CapBnd"])
			}
			if filtered := first["Seccomp"] == "2"; filtered != (walled && runtime != "netns") {
				t.Errorf("node %s: seccomp has the mode %s", node, first["Seccomp"])
			}
		}
	})
}

// Each of these commands would do no harm if it worked.
var forbidden = []struct{ what, script, says string }{
	{"mount", "mount -t tmpfs none /tmp", ""},
	{"mount the kernel's trace", "mkdir -p /tmp/trace && mount -t tracefs none /tmp/trace", ""},
	{"write a sysctl of the host", "was=$(cat /proc/sys/kernel/panic) && echo $was >/proc/sys/kernel/panic", "ead-only"},
	{"write to /sys", "was=$(cat /sys/kernel/rcu_expedited) && echo $was >/sys/kernel/rcu_expedited", "ead-only"},
	{"see the kernel's secrets", "test -n \"$(ls /sys/kernel/debug /sys/kernel/tracing | grep -v :)\" || mount -t debugfs none /sys/kernel/debug", ""},
}

func TestANodeIsKeptFromTheHostUnlessPrivileged(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		lab := up(t, walledLab(t, "tbwallkept"+runtime, runtime))
		run := func(node, script string) (string, error) {
			cmd, err := lab.Command(context.Background(), node, []string{"sh", "-c", script}, running.ExecOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.CombinedOutput()
			return strings.TrimSpace(string(out)), err
		}
		for _, f := range forbidden {
			if out, err := run("a", f.script); err == nil || !strings.Contains(out, f.says) {
				t.Errorf("%s: %v: %s", f.what, err, out)
			}
			if out, err := run("b", f.script); err != nil {
				t.Errorf("%s, privileged: %v: %s", f.what, err, out)
			}
		}
		// What is the node's own stays its own.
		for _, script := range []string{
			"echo 1 >/proc/sys/net/ipv4/ip_forward",
			"echo 2 >/sys/class/net/x/tx_queue_len",
			"ping -c1 -W5 127.0.0.1",
		} {
			if out, err := run("a", script); err != nil {
				t.Errorf("%s: %v: %s", script, err, out)
			}
		}
	})
}

// The refusals of LXC, which reads them as text, and of commands, which get a filter, are the same.
func TestCommandsAreRefusedTheSystemCallsOfTheContainer(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	lab := up(t, attackedLab(t, "tbwallrefused", "lxc", ""))
	byLXC, err := exec.Command("lxc-attach", "-P", filepath.Join(lab.State().Dir, "lxc"), "-n", lab.Plan().Nodes[0].HostName, "--", "/attack", "calls").Output()
	if err != nil {
		t.Fatal(err)
	}
	if byNines := in(t, lab, "a", "/attack", "calls"); byNines != strings.TrimSpace(string(byLXC)) {
		t.Errorf("by LXC:\n%s\nby nines:\n%s", byLXC, byNines)
	}
}

// TestProgramsOfContainersHaveWhatTheFileAllows makes system calls that succeed on the host.
func TestProgramsOfContainersHaveWhatTheFileAllows(t *testing.T) {
	for _, test := range []struct {
		name, keys string
		succeed    []string
	}{
		{"nothing", "", nil},
		{"bpf", "allow: [bpf]", []string{"bpf"}},
		{"more", "allow: [perf, io_uring]", []string{"perf_event_open", "io_uring_setup"}},
		{"dpdk", "allow: [dpdk]", nil},
	} {
		for _, runtime := range []string{"lxc", "oci-runc"} {
			t.Run(test.name+" "+runtime, func(t *testing.T) {
				labtest.Root(t)
				needRuntime(t, runtime)
				lab := up(t, attackedLab(t, "tballow"+test.name+runtime, runtime, test.keys))
				for line := range strings.Lines(in(t, lab, "a", "/attack", "calls")) {
					call, ending, _ := strings.Cut(strings.TrimSpace(line), "\t")
					want := "EPERM"
					switch {
					case strings.HasPrefix(call, "/proc/"): // masked: empty, or not in this kernel
						if ending != "EOF" && ending != "ENOENT" {
							t.Errorf("%s: %s", call, ending)
						}
						continue
					case slices.Contains(test.succeed, call):
						want = "succeeds"
					}
					if ending != want {
						t.Errorf("%s: %s, want that it %s", call, ending, want)
					}
				}
			})
		}
	}
}

// TestNoNewPrivileges: the node's first process has given them up, and so have commands.
func TestNoNewPrivileges(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		lab := up(t, fmt.Sprintf(`
name: tbnonew%s
topology:
  nodes:
    a: {%s, no_new_privileges: true}
    b: {%[2]s, no_new_privileges: true, privileged: true}
    c: {%[2]s}
`, runtime, keysOf(t, runtime)))
		for node, want := range map[string]string{"a": "1", "b": "1", "c": "0"} {
			first, command := rightsOf(t, lab.PID(node)), rights(t, in(t, lab, node, "cat", "/proc/self/status"))
			if first["NoNewPrivs"] != want || command["NoNewPrivs"] != want {
				t.Errorf("node %s: its first process has %s, a command %s, want %s", node, first["NoNewPrivs"], command["NoNewPrivs"], want)
			}
		}
	})
}

// TestAnEngineIsTheHostsProgram: root in a container can put another program at the path where it sees the
// engine; that must not run with the engine's rights.
func TestAnEngineIsTheHostsProgram(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	text := attackedLab(t, "tbtrojan", "lxc", "")
	lab := up(t, text)
	in(t, lab, "a", "sh", "-c", "mv /nines /moved && mkdir /nines && echo >/nines/nines-engine && chmod +x /nines/nines-engine")
	changed := strings.ReplaceAll(text, "backend: raw", "backend: ring")
	changes, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, changed), Experiment: []byte(changed)})
	if err != nil || len(changes.RestartedApps) != 2 {
		t.Fatalf("Apply = %+v, %v, want that the engines are restarted", changes, err)
	}
	if found := foundBy(t, lab); found != "" {
		t.Error(found)
	}
}

func TestSysctlsOfNamespacesAreSetBehindWalls(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		const value = "8191"
		host, err := os.ReadFile("/proc/sys/kernel/msgmax")
		if err != nil {
			t.Fatal(err)
		}
		lab := up(t, fmt.Sprintf("name: tbipc%s\ntopology: {nodes: {a: {%s, sysctls: {kernel.msgmax: %s, fs.mqueue.msg_max: 9}}}}\n", runtime, keysOf(t, runtime), value))
		if got := in(t, lab, "a", "cat", "/proc/sys/kernel/msgmax", "/proc/sys/fs/mqueue/msg_max"); got != value+"\n9" {
			t.Errorf("the node has %q", got)
		}
		if now, err := os.ReadFile("/proc/sys/kernel/msgmax"); err != nil || string(now) != string(host) {
			t.Errorf("the host has %s: %v", now, err)
		}
	})
}

func TestAContainersProcessesAreLimited(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	h, err := isolate.Find(isolate.PIDs)
	labtest.Require(t, "the pids controller", err == nil)
	lab := up(t, walledLab(t, "tbpids", "lxc"))
	for node, want := range map[string]string{"a": fmt.Sprint(isolate.MostProcesses), "b": "max"} {
		dirs, err := cgroup.DirsOf(lab.PID(node))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(dirs[h.Mount], "pids.max")); strings.TrimSpace(string(text)) != want {
			t.Errorf("node %s has the limit %s: %v", node, text, err)
		}
	}
}

// TestAReadOnlyMountIsReadOnlyAllTheWayDown: a file system that is mounted below the source is as
// little writable as the source.
func TestAReadOnlyMountIsReadOnlyAllTheWayDown(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		source, target := t.TempDir(), t.TempDir()
		below := filepath.Join(source, "below")
		if err := os.Mkdir(below, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", below, "tmpfs", 0, "size=64k"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := unix.Unmount(below, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}()
		lab := up(t, fmt.Sprintf(`
name: tbreadonly%s
topology:
  nodes:
    a: {%s, mounts: [{source: %q, target: %q, read_only: true}]}
    b: {%[2]s, mounts: [{source: %[3]q, target: %[4]q}]}
`, runtime, keysOf(t, runtime), source, target))
		for node, writable := range map[string]bool{"a": false, "b": true} {
			for _, folder := range []string{target, filepath.Join(target, "below")} {
				cmd, err := lab.Command(context.Background(), node, []string{"touch", filepath.Join(folder, node)}, running.ExecOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if out, err := cmd.CombinedOutput(); (err == nil) != writable {
					t.Errorf("node %s writes to %s: %v: %s", node, folder, err, out)
				}
			}
		}
		for _, folder := range []string{source, below} {
			if _, err := os.Stat(filepath.Join(folder, "a")); err == nil {
				t.Errorf("node a has written to %s", folder)
			}
		}
	})
}

// A node whose rights change starts afresh.
func TestANodeIsMadeAnewForOtherRights(t *testing.T) {
	text := walledLab(t, "tbrenew", "netns")
	from, to := labs.Plan(t, text), labs.Plan(t, strings.Replace(text, ", privileged: true", "", 1))
	if changes := change.Compare(from, to); len(changes.FreshNodes) != 1 || changes.FreshNodes[0] != "b" {
		t.Errorf("the changes are %+v", changes)
	}
	if steps := strings.Join(dryrun.Steps(from), "\n"); !strings.Contains(steps, "node b: let its processes do what root on the host may") {
		t.Errorf("the dry run does not say it:\n%s", steps)
	}
}
