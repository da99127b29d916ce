package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/capture"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
	"nines.dev/nines/power"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// The node that is restarted, on every kind of link that a kernel without modules has:
//
//	load:tx ──in, veth── dut:in ▸ forward ▸ dut:out ──out, bridge── load:rx
//	                     dut:x1 ──xdp── load:x1      dut:mac ──macvlan── load:mac
const restartLab = `
name: tbrestart
topology:
  nodes:
    load: {}
    dut: {RUNTIME, memory: 256MiB, app: {kind: chain}, sysctls: {net.ipv4.ip_default_ttl: "65", kernel.msgmax: "9000"}}
    far: {}
  links:
    - {name: in, kind: veth, endpoints: ["load:tx", "dut:in"]}
    - {name: out, kind: bridge, endpoints: ["dut:out", "far:rx"]}
    - {name: x1, kind: xdp, endpoints: ["dut:x1", "load:x1"]}
    - {name: mac, kind: macvlan, endpoints: ["dut:mac", "far:mac"]}
`

func restartText(t *testing.T, runtime string) string {
	t.Helper()
	return strings.NewReplacer("RUNTIME", keysOf(t, runtime), "name: tbrestart", "name: tbre"+runtime, "app: {kind: chain}, ", "").Replace(restartLab)
}

// network is all that ip(8) tells of a node's devices and addresses: names, indexes, those of their
// other ends, MAC addresses, states, addresses, routes and neighbours.
func network(t *testing.T, lab *Lab, nodeName string) string {
	t.Helper()
	r := lab.Running(nodeName)
	ns, err := r.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	var all strings.Builder
	for _, what := range [][]string{
		{"ip", "-o", "link"}, {"ip", "-o", "address"}, {"ip", "route"}, {"ip", "neighbour", "show", "nud", "permanent"},
	} {
		if err := ns.Do(func() error {
			out, err := exec.Command(what[0], what[1:]...).Output() // on this thread, so inside
			all.Write(out)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func TestARestartKeepsTheNetwork(t *testing.T) {
	forRuntimes(t, func(t *testing.T, runtime string) {
		ctx := context.Background()
		text := restartText(t, runtime)
		lab := up(t, text)
		in(t, lab, "dut", "sh", "-c", "echo kept > /tmp/nines-restart-"+lab.Name())
		t.Cleanup(func() { _ = os.Remove("/tmp/nines-restart-" + lab.Name()) })
		before := map[string]string{}
		for _, n := range lab.Plan().Nodes {
			before[n.Name] = network(t, lab, n.Name)
		}
		changes := carriers(t, lab, "load") + carriers(t, lab, "far")
		other := lab.PID("load")
		capture, err := capture.Open(lab.Lab, capture.Point{Node: "dut", Interface: "in"})
		if err != nil {
			t.Fatal(err)
		}
		defer capture.Close()
		for _, how := range []struct {
			what string
			do   func() error
		}{
			{"restart", func() error { return lab.Restart(ctx, []string{"dut"}, RestartOptions{}) }},
			{"restart --kill", func() error { return lab.Restart(ctx, []string{"dut"}, RestartOptions{Kill: true}) }},
			{"stop and start", func() error {
				if err := lab.Stop(ctx, []string{"dut"}, RestartOptions{}); err != nil {
					return err
				}
				stopped(t, lab, "dut")
				return lab.Start(ctx, []string{"dut"}, RestartOptions{})
			}},
			{"stop and restart", func() error {
				if err := lab.Stop(ctx, []string{"dut"}, RestartOptions{}); err != nil {
					return err
				}
				return lab.Restart(ctx, []string{"dut"}, RestartOptions{})
			}},
			{"death and start", func() error {
				end(t, lab, "dut")
				return lab.Start(ctx, []string{"dut"}, RestartOptions{})
			}},
			{"death and apply", func() error {
				end(t, lab, "dut")
				changes, err := lab.Apply(ctx, ApplyOptions{Plan: lab.Plan(), Experiment: []byte(text)})
				if !slices.Equal(changes.RestartedNodes, []string{"dut"}) || len(changes.ReplacedNodes)+len(changes.ReplacedLinks)+len(changes.AddedEndpoints) > 0 {
					t.Errorf("apply changed %+v", changes)
				}
				return err
			}},
		} {
			pid := lab.PID("dut")
			if err := how.do(); err != nil {
				t.Fatalf("%s: %v", how.what, err)
			}
			if now := lab.PID("dut"); now == pid || now == 0 {
				t.Errorf("%s: the first process was %d and is %d", how.what, pid, now)
			}
			again, err := Open(lab.Name())
			if err != nil {
				t.Fatal(err)
			}
			for name, was := range before {
				if is := network(t, again, name); is != was {
					t.Errorf("%s: the network of %s was\n%s\nand is\n%s", how.what, name, was, is)
				}
			}
			if now := carriers(t, again, "load") + carriers(t, again, "far"); now != changes {
				t.Errorf("%s: the carriers of the other ends had changed %s\nand now %s", how.what, changes, now)
			}
			if again.PID("load") != other {
				t.Errorf("%s: another node was restarted, too", how.what)
			}
			if bad := problems(t, again); len(bad) > 0 {
				t.Errorf("%s: %v", how.what, bad)
			}
			if got := in(t, again, "dut", "cat", "/tmp/nines-restart-"+lab.Name(), "/proc/sys/net/ipv4/ip_default_ttl", "/proc/sys/kernel/msgmax"); got != "kept\n65\n9000" {
				t.Errorf("%s: its file and sysctls are %q", how.what, got)
			}
			limited(t, again, "dut")
			for _, i := range again.Plan().Node("load").Interfaces {
				in(t, again, "load", "ping", "-c1", "-W5", "-I", i.Name, i.Neighbours[0].IP)
			}
			if frame, err := captured(capture); err != nil || frame == 0 {
				t.Errorf("%s: a capture that goes on has %d frames of it, %v", how.what, frame, err)
			}
		}
		if err := lab.Down(ctx); err != nil {
			t.Error(err)
		}
		if left := traces.Left(t, lab.Plan().Prefix, os.Getenv("NINES_STATE_DIR")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// captured is how many frames wait in a capture.
func captured(c *capture.Capture) (frames int, err error) {
	for {
		_, there, err := c.Waiting()
		if err != nil || !there {
			return frames, err
		}
		frames++
	}
}

// stopped fails the test if a node is not stopped, or is told as dead.
func stopped(t *testing.T, lab *Lab, nodeName string) {
	t.Helper()
	lab, err := Open(lab.Name())
	if err != nil {
		t.Fatal(err)
	}
	status := statusOf(lab.Name())
	if lab.Alive(nodeName) || !slices.Equal(status.StoppedNodes, []string{nodeName}) || len(status.DeadNodes)+len(status.Faults) > 0 {
		t.Errorf("a stopped node: alive %v, %+v", lab.Alive(nodeName), status)
	}
	parts, err := lab.Check()
	if err != nil || !slices.Contains(parts, Checked{Part: "node " + nodeName, Stopped: true}) {
		t.Errorf("the check of a stopped node: %+v, %v", parts, err)
	}
	seen, err := lab.Inspect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range seen.NodeList {
		if n.Stopped != (n.Name == nodeName) || n.Alive == n.Stopped {
			t.Errorf("inspect shows %+v", n)
		}
	}
	if _, err := lab.Command(context.Background(), nodeName, []string{"true"}, running.ExecOptions{}); err == nil || !strings.Contains(err.Error(), "is stopped; nines start "+nodeName) {
		t.Errorf("a command in a stopped node: %v", err)
	}
	changes, err := lab.Changes(lab.Plan(), nil)
	if err != nil || !changes.Empty() {
		t.Errorf("apply would start a stopped node: %+v, %v", changes, err)
	}
}

// end kills a node's first process, and returns when the node is dead.
func end(t *testing.T, lab *Lab, nodeName string) {
	t.Helper()
	lab, err := Open(lab.Name())
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Running(nodeName).Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for lab.Alive(nodeName) {
		time.Sleep(time.Millisecond)
	}
	if status := statusOf(lab.Name()); !slices.Equal(status.DeadNodes, []string{nodeName}) || len(status.StoppedNodes) > 0 {
		t.Errorf("a dead node: %+v", status)
	}
}

// limited fails the test if a node is not in a control group with its limit of memory.
func limited(t *testing.T, lab *Lab, nodeName string) {
	t.Helper()
	dirs, err := cgroup.DirsOf(lab.PID(nodeName))
	if err != nil {
		t.Fatal(err)
	}
	n := lab.Plan().Node(nodeName)
	for _, dir := range dirs {
		for _, file := range []string{"memory.limit_in_bytes", "memory.max"} {
			if text, err := os.ReadFile(dir + "/" + file); err == nil && strings.TrimSpace(string(text)) == fmt.Sprint(n.MemoryBytes) {
				return
			}
		}
	}
	t.Errorf("no control group of %s limits its memory to %d: %v", nodeName, n.MemoryBytes, dirs)
}

// TestARestartedEngineReflects: the engine of a node starts with it and loses nothing, on sockets and
// with kernel bypass; so does the program that stops it deliberately.
func TestARestartedEngineReflects(t *testing.T) {
	for _, c := range []struct {
		kind, runtime, from, app string
		long                     bool
	}{
		{"bridge", "lxc", "raw", "udp", false}, {"veth", "netns", "raw", "xdp", false}, {"switch", "netns", "raw", "dpdk", false},
		{"memif", "oci-runc", "dpdk", "dpdk", false}, {"xdp", "lxc", "raw", "raw", false},
		{"veth", "netns", "raw", "raw", true}, {"memif", "netns", "dpdk", "dpdk", true}, {"memif", "lxc", "dpdk", "dpdk", true},
		{"switch", "lxc", "dpdk", "dpdk", true}, {"bridge", "oci-runc", "raw", "xdp", true}, {"memif", "oci-docker", "dpdk", "dpdk", true},
		{"veth", "oci-containerd", "raw", "raw", true}, {"bridge", "oci-podman", "raw", "udp", true},
	} {
		t.Run(strings.Join([]string{c.kind, c.runtime, c.from, c.app}, "/"), func(t *testing.T) {
			labtest.Root(t)
			if c.long {
				labtest.LongForm(t)
			}
			needRuntime(t, c.runtime)
			text := labs.Echo(c.kind, "RUNTIME", c.from, c.app) + "disturb:\n  it: {kind: stop, node: b, period: 10s, length: 1ms}\n"
			if c.from != "dpdk" && c.app != "dpdk" {
				text = strings.Replace(text, "dpdk: {hugepages: none}\n", "", 1)
			}
			text = strings.Replace(text, "runtime: RUNTIME", keysOf(t, c.runtime), 1)
			labs.NeedLinks(t, labs.Plan(t, text))
			lab := up(t, text)
			echo(t, lab)
			for _, again := range []func() error{
				func() error { return lab.Restart(context.Background(), []string{"b"}, RestartOptions{}) },
				func() error {
					err := Power(context.Background(), lab.Name(), "b", power.Reset, PowerOptions{By: "a test", Progress: func(string) {}})
					if err == nil {
						lab, err = Open(lab.Name())
					}
					return err
				},
			} {
				pid := lab.PID("b")
				if err := again(); err != nil {
					t.Fatal(err)
				}
				if lab.PID("b") == pid {
					t.Error("b was not restarted")
				}
				echo(t, lab)
				if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
					t.Errorf("faults: %v, %v", faults, err)
				}
			}
		})
	}
}

func TestWhatCannotBeRestartedIsRefused(t *testing.T) {
	labtest.Root(t)
	lab := up(t, `
name: tbreno
topology:
  nodes:
    a: {}
    h: {runtime: host}
  links:
    - {endpoints: ["a:v", "h:v"]}
`)
	ctx := context.Background()
	for _, c := range []struct {
		node, says string
		code       int
	}{
		{"h", "a host node is the host itself", exit.Wrong},
		{"nobody", `has no node "nobody"; its nodes: a, h`, exit.Wrong},
	} {
		for how, do := range map[string]func(context.Context, []string, RestartOptions) error{"restart": lab.Restart, "stop": lab.Stop, "start": lab.Start} {
			pid := lab.PID("a")
			err := do(ctx, []string{"a", c.node}, RestartOptions{})
			if err == nil || !strings.Contains(err.Error(), c.says) || exit.Code(err) != c.code {
				t.Errorf("%s of %s: %v (exit code %d)", how, c.node, err, exit.Code(err))
			}
			if lab.PID("a") != pid {
				t.Errorf("%s of %s was refused, and changed another node", how, c.node)
			}
		}
	}
	// A node whose network is gone is rebuilt with its links, by apply.
	r := lab.Running("a")
	if err := r.Network.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for r.Network.Alive() {
		time.Sleep(time.Millisecond)
	}
	if err := lab.Restart(ctx, []string{"a"}, RestartOptions{}); err == nil || !strings.Contains(err.Error(), "has no network") {
		t.Errorf("a restart without a network: %v", err)
	}
	changes, err := lab.Apply(ctx, ApplyOptions{Plan: lab.Plan(), Experiment: []byte("name: tbreno\n")})
	if err != nil || !slices.Equal(changes.ReplacedNodes, []string{"a"}) {
		t.Errorf("apply changed %+v, %v", changes, err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

// TestAStartThatFailsIsTakenBack: the node is stopped as it was, and starts when the cause is gone.
func TestAStartThatFailsIsTakenBack(t *testing.T) {
	labtest.Root(t)
	flag := t.TempDir() + "/flag"
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lab := up(t, fmt.Sprintf(`
name: tbrefail
topology:
  nodes:
    a: {exec: [[test, -e, %q]]}
    b: {}
  links:
    - {endpoints: ["a:v", "b:v"]}
`, flag))
	ctx := context.Background()
	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	if err := lab.Restart(ctx, []string{"a"}, RestartOptions{}); err == nil || !strings.Contains(err.Error(), "nines start tries again") {
		t.Errorf("the start failed with %v", err)
	}
	if status := statusOf(lab.Name()); !slices.Equal(status.DeadNodes, []string{"a"}) {
		t.Errorf("after a restart that failed: %+v", status)
	}
	if err := lab.Stop(ctx, []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(ctx, []string{"a"}, RestartOptions{}); err == nil {
		t.Error("the start did not fail")
	}
	stopped(t, lab, "a")
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(ctx, []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

// TestWhatOneNodeLacksKeepsNoOther: a node is stopped without the source of its mount, and others are
// restarted. It is not ended for a start that cannot be.
func TestWhatOneNodeLacksKeepsNoOther(t *testing.T) {
	labtest.Root(t)
	source, target := filepath.Join(t.TempDir(), "source"), t.TempDir()
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	lab := up(t, fmt.Sprintf(`
name: tbrelack
topology:
  nodes:
    a: {mounts: [{source: %q, target: %q}]}
    b: {}
  links:
    - {endpoints: ["a:v", "b:v"]}
`, source, target))
	ctx := context.Background()
	if err := os.Remove(source); err != nil {
		t.Fatal(err)
	}
	pid := lab.PID("a")
	if err := lab.Restart(ctx, []string{"a"}, RestartOptions{}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), source) {
		t.Errorf("restarted without its mount: %v", err)
	}
	if lab.PID("a") != pid || !lab.Alive("a") {
		t.Errorf("a was ended: its first process was %d and is %d", pid, lab.PID("a"))
	}
	if err := lab.Restart(ctx, []string{"b"}, RestartOptions{}); err != nil {
		t.Errorf("another was not restarted: %v", err)
	}
	if err := lab.Stop(ctx, []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	// Of a node that runs, nothing is checked.
	if err := lab.Start(ctx, []string{"b"}, RestartOptions{}); err != nil {
		t.Error(err)
	}
	if err := lab.Start(ctx, []string{"a"}, RestartOptions{}); err == nil || !strings.Contains(err.Error(), source) {
		t.Errorf("started without its mount: %v", err)
	}
	stopped(t, lab, "a")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(ctx, []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
		t.Errorf("in the end: %v, %v", faults, err)
	}
}

// TestRestartIsForRuntimesThatOutlive: a runtime that restarts says so in its descriptor, and one that
// does not gives its reason. It is pure.
func TestRestartIsForRuntimesThatOutlive(t *testing.T) {
	for runtime, want := range map[spec.Runtime]bool{
		spec.RuntimeNetns: true, spec.RuntimeLXC: true, spec.RuntimeVM: true, spec.RuntimeOCI: true, spec.RuntimeHost: false, spec.RuntimePod: false,
	} {
		d := runtime.Descriptor()
		if d.Restarts() != want || want == (d.Refusals["restart"].Problem != "") {
			t.Errorf("%s: restarts %v, refused with %+v", runtime, d.Restarts(), d.Refusals["restart"])
		}
	}
}

// TestReceiveModesAreSetUpAgain: those of started nodes, and all where starting moves the kernel's
// threads. It is pure.
func TestReceiveModesAreSetUpAgain(t *testing.T) {
	p := &plan.Plan{Nodes: []plan.Node{{Name: "a", Receive: &plan.Receive{}}, {Name: "b", Receive: &plan.Receive{}}, {Name: "c"}}}
	if got := change.ReceivedAgain(p, []string{"a", "c"}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("set up again: %v", got)
	}
	p.Isolation = spec.IsolationIsolated
	if got := change.ReceivedAgain(p, []string{"c"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("with isolation: %v", got)
	}
}

// TestRestartsAreTold: once, in a line that a trial can give as its reason. It is pure.
func TestRestartsAreTold(t *testing.T) {
	l := &Lab{restarts: &restartLog{}}
	l.restarts.note([]plan.Node{{Name: "a"}, {Name: "b"}}, "restarted", time.Now(), "it had died")
	told := l.restarts.take(nil)
	if len(told) != 2 || !strings.HasPrefix(told[1].String(), "node b was restarted at ") || !strings.HasSuffix(told[1].String(), ": it had died") {
		t.Errorf("told: %v", told)
	}
	if again := l.restarts.take(nil); len(again) > 0 {
		t.Errorf("told twice: %v", again)
	}
	// An unhealthy node is reported, and reported again when that is over, unless the end was already reported.
	since := time.Now().Add(-time.Second)
	l.restarts.ill("a", since, "exit status 1")
	if told := l.restarts.take(nil); len(told) != 1 || strings.Contains(told[0].String(), "took") || !strings.HasPrefix(told[0].String(), "node a was unhealthy at ") {
		t.Errorf("told: %v", told)
	}
	l.restarts.well("a", since, "exit status 1")
	l.restarts.ill("b", since, "exit status 1")
	l.restarts.well("b", since, "exit status 1")
	told = l.restarts.take(nil)
	if len(told) != 2 || told[0].Node != "a" || told[1].Node != "b" || told[0].Took < time.Second || told[1].Took < time.Second {
		t.Errorf("told: %v", told)
	}
	for how, words := range map[string]string{wasUnhealthy: ", for 2s: ", "stopped": ", which took 2s: "} {
		if text := (Restarted{Node: "a", How: how, Took: 2 * time.Second, Why: "it had died"}).String(); !strings.HasSuffix(text, words+"it had died") {
			t.Errorf("one that was %s: %s", how, text)
		}
	}
	if none := (&Lab{}).TakeRestarts(); none != nil {
		t.Errorf("a lab that nobody changes: %v", none)
	}
}

// TestWhatDidNotHappenIsNotTold: a stop and a restart that fail before anything has ended, and a start that
// fails leaves a node off, as reported.
func TestWhatDidNotHappenIsNotTold(t *testing.T) {
	labtest.Root(t)
	lab := up(t, "name: tbnottold\ntopology: {nodes: {a: {}}}\n")
	pid := lab.PID("a")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for what, do := range map[string]func(context.Context, []string, RestartOptions) error{"stop": lab.Stop, "restart": lab.Restart} {
		if err := do(cancelled, []string{"a"}, RestartOptions{}); err == nil || lab.PID("a") != pid {
			t.Errorf("%s: process %d is %d now, %v", what, pid, lab.PID("a"), err)
		}
		if told := lab.TakeRestarts(); len(told) > 0 {
			t.Errorf("%s: told %v", what, told)
		}
	}
	if err := lab.Stop(context.Background(), []string{"a"}, RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	lab.TakeRestarts()
	if err := lab.Start(cancelled, []string{"a"}, RestartOptions{}); err == nil || !lab.Stopped("a") {
		t.Errorf("it was started: %v", err)
	}
	if told := lab.TakeRestarts(); len(told) != 1 || told[0].How != wasStopped {
		t.Errorf("while the node is off: %v", told)
	}
}

// killProcess kills a process, and returns when it has ended.
func killProcess(t *testing.T, id proc.Identity) {
	t.Helper()
	if err := id.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for id.Alive() {
		time.Sleep(time.Millisecond)
	}
}
