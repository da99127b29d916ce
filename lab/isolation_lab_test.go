package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/test/traces"
)

// isolationBoots are the boots of the laboratory that differ in how CPUs are isolated: a partition
// of the lab (Linux 6.1), remote partitions (6.12), cgroup v1 cpusets, both versions with
// isolcpus=, and the real-time kernels.
var isolationBoots = []string{labtest.BootRT, labtest.BootMain, labtest.BootNew, labtest.BootV1, labtest.BootIsolated, labtest.BootNewRT}

// disturbers starts processes that spin on all CPUs, and one that forks for ever.
func disturbers(t *testing.T) []int {
	t.Helper()
	var pids []int
	for _, script := range []string{
		"while :; do :; done", "while :; do :; done", "while :; do :; done", "while :; do :; done", "while :; do :; done", "while :; do :; done",
		"while :; do sleep 0.01; done",
	} {
		cmd := exec.Command("nice", "sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		pids = append(pids, cmd.Process.Pid)
	}
	return pids
}

// ranOn are the CPUs on which some processes and their children ran during a time span.
func ranOn(t *testing.T, pids []int, span time.Duration) tasks.Set {
	t.Helper()
	var seen tasks.Set
	for begun := time.Now(); time.Since(begun) < span; time.Sleep(10 * time.Millisecond) {
		for _, thread := range threadsOf(t) {
			if slices.Contains(pids, thread.Process) || slices.Contains(pids, thread.Parent) {
				seen = seen.Plus(tasks.Set{thread.LastCPU})
			}
		}
	}
	return seen
}

func threadsOf(t *testing.T) []tasks.Thread {
	t.Helper()
	threads, err := tasks.All()
	if err != nil {
		t.Fatal(err)
	}
	return threads
}

func TestLabNothingElseRunsOnIsolatedCPUs(t *testing.T) {
	labtest.VirtualLab(t, isolationBoots...)
	labtest.Root(t)
	labs.NeedLXC(t)
	h, err := isolate.Find(isolate.CPUSet)
	if err != nil {
		t.Fatal(err)
	}
	// A group of someone else, and a process that someone has bound to some CPUs.
	bystander := filepath.Join(h.Mount, "bystander")
	if err := os.Mkdir(bystander, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(bystander) })
	if h.Version == 1 {
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(h.Mount, file))
			if err == nil {
				err = os.WriteFile(filepath.Join(bystander, file), text, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	pids := disturbers(t)
	bound := exec.Command("taskset", "-c", "1-2", "sleep", "1000")
	if err := bound.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bound.Process.Kill()
		_ = bound.Wait()
	})
	// Boots with isolcpus keep the processes off already; in other boots they have to be seen on
	// all CPUs.
	if text, err := os.ReadFile("/sys/devices/system/cpu/isolated"); err == nil && strings.TrimSpace(string(text)) == "" {
		for was, begun := (tasks.Set{}), time.Now(); len(was) < 4; was = was.Plus(ranOn(t, pids, time.Second)) {
			if time.Since(begun) > time.Minute {
				t.Fatalf("the disturbers run on %s before anything is isolated: they would prove nothing", was)
			}
		}
	}
	for _, degree := range []spec.Isolation{spec.IsolationPartition, spec.IsolationIsolated} {
		t.Run(string(degree), func(t *testing.T) {
			before := traces.TakeSnapshot(t)
			text := strings.Replace(labs.Isolated, "isolation: isolated", "isolation: "+string(degree), 1)
			lab := up(t, text)
			taken := tasks.Set(lab.Plan().IsolatedCPUs)
			if len(taken) != 2 {
				t.Fatalf("the plan isolates %s", taken)
			}
			checkGroups(t, lab, degree)
			if now := ranOn(t, pids, 3*time.Second); now.Meets(taken) {
				t.Errorf("the disturbers run on %s, and %s are isolated", now, taken)
			}
			checkThreads(t, lab, degree, pids)
			checkOthers(t, lab, bystander, h.Version)
			for _, name := range []string{"gen", "dut", "idle"} {
				n := lab.Plan().Node(name)
				allowed := in(t, lab, name, "grep", "Cpus_allowed_list", "/proc/self/status")
				if want := tasks.Set(n.CPUs).String(); !strings.HasSuffix(allowed, "\t"+want) {
					t.Errorf("node %s may use %q, not %s", name, allowed, want)
				}
			}
			if degree == spec.IsolationIsolated {
				labs.CheckInterrupts(t, taken)
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, change := range before.Changes(traces.TakeSnapshot(t)) {
				t.Error(change)
			}
		})
	}
}

// checkGroups compares what nines says about its groups with what the kernel does.
func checkGroups(t *testing.T, lab *Lab, degree spec.Isolation) {
	t.Helper()
	state, err := lab.Isolation()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s; %d interrupts, %d kernel threads, %d tasks, %d settings moved", state.Mechanism,
		state.Interrupts, state.KernelThreads, state.Tasks, state.Settings)
	for _, note := range state.Notes {
		t.Log(note)
	}
	if len(state.Groups) == 0 {
		t.Fatal("no group is isolated")
	}
	var have tasks.Set
	for _, g := range state.Groups {
		cpus, err := tasks.ParseSet(g.CPUs)
		if err != nil {
			t.Fatal(err)
		}
		have = have.Plus(cpus)
		want := map[spec.Isolation][]string{
			spec.IsolationPartition: {"root", "exclusive"}, spec.IsolationIsolated: {"isolated", "exclusive, no load balancing"},
		}[degree]
		if !slices.Contains(want, g.Partition) {
			t.Errorf("%s is %q, not one of %q", g.Path, g.Partition, want)
		}
	}
	if !have.Equal(lab.Plan().IsolatedCPUs) {
		t.Errorf("the groups have %s, and the plan isolates %v", have, lab.Plan().IsolatedCPUs)
	}
}

// checkThreads checks the affinity of every thread of the host outside the lab.
func checkThreads(t *testing.T, lab *Lab, degree spec.Isolation, pids []int) {
	t.Helper()
	taken := tasks.Set(lab.Plan().IsolatedCPUs)
	moved := 0
	for _, thread := range threadsOf(t) {
		groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/cgroup", thread.Process, thread.ID))
		inLab := err != nil || bytes.Contains(groups, []byte("/"+lab.Plan().Prefix+"/"))
		if inLab || thread.Fixed || !thread.CPUs.Meets(taken) {
			moved++
			continue
		}
		if !thread.Kernel {
			t.Errorf("thread %d (%s) may still use the CPUs %s", thread.ID, thread.Name, thread.CPUs)
		} else if degree == spec.IsolationIsolated && len(thread.CPUs.Minus(taken)) > 0 {
			t.Errorf("kernel thread %d (%s) may still use the CPUs %s", thread.ID, thread.Name, thread.CPUs)
		}
	}
	if moved < len(pids) {
		t.Errorf("only %d threads were looked at", moved)
	}
}

// checkOthers checks the CPUs that a group of someone else still has.
func checkOthers(t *testing.T, lab *Lab, bystander string, version int) {
	t.Helper()
	file := map[int]string{1: "cpuset.effective_cpus", 2: "cpuset.cpus.effective"}[version]
	if version == 2 {
		bystander = filepath.Dir(bystander) // a group without its own CPUs has its parent's
	}
	text, err := os.ReadFile(filepath.Join(bystander, file))
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := tasks.ParseSet(string(text))
	if err != nil || len(cpus) == 0 || cpus.Meets(lab.Plan().IsolatedCPUs) {
		t.Errorf("others have %q, %v", text, err)
	}
}
