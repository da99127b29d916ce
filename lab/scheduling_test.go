package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// a:x ──veth── b:x    b reflects
const scheduledLab = `
name: tbsched
topology:
  nodes:
    a: {scheduling: {policy: batch, nice: 7}, exec: [[sh, -c, "chrt -p $$ > %[1]s; nice >> %[1]s"]]}
    b: {runtime: %[2]s, scheduling: {policy: %[3]s}, app: {kind: reflect}}
  links:
    - {name: pair, kind: veth, endpoints: ["a:x", "b:x"]}
`

// serving returns the packet thread of a node's engine, as the host sees it, and the engine's first
// thread.
func serving(t *testing.T, lab *Lab, nodeName string) (packets, first int) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", lab.PID(nodeName)))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Fields(string(children)) {
		threads, err := filepath.Glob("/proc/" + text + "/task/*/comm")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range threads {
			if comm, err := os.ReadFile(path); err == nil && string(comm) == "nines-serve\n" {
				packets, _ = strconv.Atoi(filepath.Base(filepath.Dir(path)))
				first, _ = strconv.Atoi(text)
				return packets, first
			}
		}
	}
	t.Fatalf("node %s has no engine that serves", nodeName)
	return 0, 0
}

func engineStats(t *testing.T, lab *Lab, nodeName string) client.Stats {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, lab.EngineSocket(nodeName))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stats, err := c.Stats()
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// The kernel reports the node's policy for threads of engines and of commands. The commands run in
// a, the engine in b.
func TestScheduling(t *testing.T) {
	labtest.Root(t)
	testScheduling(t)
}

// The same with other kernels and cgroup layouts.
func TestLabScheduling(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootRT, labtest.BootMain, labtest.BootV1, labtest.BootNew, labtest.BootNewRT)
	labtest.Root(t)
	testScheduling(t)
}

func testScheduling(t *testing.T) {
	for _, test := range []struct {
		runtime spec.Runtime
		policy  string
		says    string
		want    unix.SchedAttr
		above   uint32 // the priority of the engine's other threads
	}{
		{"netns", "fifo, priority: 5", "SCHED_FIFO 5", unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 5}, 6},
		{"lxc", "rr, priority: 99", "SCHED_RR 99", unix.SchedAttr{Policy: unix.SCHED_RR, Priority: 99}, 99},
		{"lxc", "idle", "SCHED_IDLE, nice 0", unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0},
		{"netns", "other, nice: -9", "SCHED_OTHER, nice -9", unix.SchedAttr{Nice: -9}, 0},
	} {
		t.Run(string(test.runtime)+" "+test.policy, func(t *testing.T) {
			if test.runtime == spec.RuntimeLXC {
				labs.NeedLXC(t)
			}
			said := filepath.Join(t.TempDir(), "said")
			lab := up(t, fmt.Sprintf(scheduledLab, said, test.runtime, test.policy))
			if text, _ := os.ReadFile(said); !strings.Contains(string(text), "SCHED_BATCH") || !strings.HasSuffix(string(text), "\n7\n") {
				t.Errorf("the command of exec says: %s", text)
			}
			if stats := engineStats(t, lab, "b"); stats.Scheduling != test.says {
				t.Errorf("the engine says %q, want %q", stats.Scheduling, test.says)
			}
			packets, first := serving(t, lab, "b")
			got, err := unix.SchedGetAttr(packets, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got.Policy != test.want.Policy || got.Priority != test.want.Priority || got.Nice != test.want.Nice {
				t.Errorf("the kernel says %+v of the thread, want %+v", *got, test.want)
			}
			if got, err = unix.SchedGetAttr(first, 0); err != nil || got.Policy != test.want.Policy || got.Priority != test.above {
				t.Errorf("the kernel says %+v of the engine's first thread (%v), want priority %d", got, err, test.above)
			}
			// A user's command does not get the policy.
			if out := in(t, lab, "b", "sh", "-c", "grep -i '^policy' /proc/$$/sched || echo policy : 0"); !strings.HasSuffix(out, ": 0") && !strings.HasSuffix(out, " 0") {
				t.Errorf("a look has the policy: %s", out)
			}
		})
	}
}

// With RT_GROUP_SCHED a container's group has no real-time budget, and sched_setscheduler fails in
// it: so the engine above is in another group.
func TestGroupsHaveNoRealTime(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	if !inventory.RTGroupSched() {
		t.Skip("the kernel has no RT_GROUP_SCHED: there is no trap here")
	}
	lab := up(t, fmt.Sprintf(scheduledLab, filepath.Join(t.TempDir(), "said"), "lxc", "fifo, priority: 1"))
	dirs, err := cgroup.DirsOf(lab.PID("b"))
	if err != nil {
		t.Fatal(err)
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hierarchies {
		if h.Version != 1 || !h.Has("cpu") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dirs[h.Mount], "cpu.rt_runtime_us"))
		if err != nil || string(text) != "0\n" {
			t.Errorf("the container's group has %q of real-time time (%v), want 0", text, err)
		}
	}
	cmd, err := lab.Command(context.Background(), "b", []string{"chrt", "-f", "1", "true"}, running.ExecOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("chrt works in the container's group, so that the trap is none: %s", out)
	}
	if err := node.CheckScheduling(&spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 1}); err != nil {
		t.Error(err)
	}
}
