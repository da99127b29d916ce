package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// Each test here changes the whole host, so all of them are for the virtual laboratory:
//
//	CPU 0 and 1: the host, its spinners, idle (a container that needs no CPU)
//	CPU 2 and 3: gen (a process in namespaces) and dut (a container), by themselves
const isolatedLab = `
name: tbisolated
isolation: isolated
topology:
  nodes:
    gen: {runtime: netns, cpus: 1}
    dut: {runtime: lxc, cpus: 1, memory: 256MiB, app: {kind: reflect, backend: raw}}
    idle: {runtime: lxc}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: side, kind: bridge, endpoints: ["gen:side", "idle:eth0"]}
`

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
	lxc(t)
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
			before := takeSnapshot(t)
			text := strings.Replace(isolatedLab, "isolation: isolated", "isolation: "+string(degree), 1)
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
				checkInterrupts(t, taken)
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Fatal(err)
			}
			for _, change := range before.changes(takeSnapshot(t)) {
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

// checkInterrupts checks where interrupts may go. It skips interrupts that cannot be moved: for
// those the kernel refuses even the affinity they have.
func checkInterrupts(t *testing.T, taken tasks.Set) {
	t.Helper()
	paths, err := filepath.Glob("/proc/irq/*/smp_affinity_list")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no interrupts: %v", err)
	}
	movable := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		cpus, err := tasks.ParseSet(string(text))
		if err != nil {
			t.Fatal(err)
		}
		// EIO, and EPERM since Linux 6.8.
		if err := os.WriteFile(path, text, 0o644); errors.Is(err, unix.EIO) || errors.Is(err, unix.EPERM) {
			continue
		}
		movable++
		if cpus.Meets(taken) {
			t.Errorf("%s is %s", path, cpus)
		}
	}
	if movable == 0 {
		t.Error("no interrupt can be moved: nothing is proven")
	}
}

// cyclesVariable names how often the test below kills nines; a few times if unset.
const cyclesVariable = "NINES_CYCLES"

func TestLabAKilledUpLeavesTheHostAsItWas(t *testing.T) {
	labtest.Guarantee(t)
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootV1)
	labtest.Root(t)
	lxc(t)
	cycles := 1
	if labtest.Long() {
		cycles = 3
	}
	if count := os.Getenv(cyclesVariable); count != "" {
		var err error
		if cycles, err = strconv.Atoi(count); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines")
	file := filepath.Join(t.TempDir(), "lab.yaml")
	// Virtual functions too: their steps and undo steps alternate with those of isolation.
	text := isolatedLab + `    - {name: wire, kind: sriov, endpoints: ["gen:wire", "idle:wire"], sriov: {ports: [` + leftPort + ", " + rightPort + `]}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command(binary, arguments...).CombinedOutput(); err != nil && !bytes.Contains(out, []byte("does not exist")) {
			t.Fatalf("nines %v: %v: %s", arguments, err, out)
		}
	}
	bound := exec.Command("taskset", "-c", "3", "sleep", "100000")
	if err := bound.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bound.Process.Kill()
		_ = bound.Wait()
	})
	// A card's driver creates queues and interrupts when the card is first set up.
	for _, port := range []string{leftPort, rightPort} {
		sh(t, "ip", "link", "set", port, "up")
		sh(t, "ip", "link", "set", port, "down")
	}
	before, functions := takeSnapshot(t), cards(t)
	begun := time.Now()
	run("up", file)
	moments := moments{to: time.Since(begun)}
	if len(before.changes(takeSnapshot(t))) < 4 {
		t.Fatal("the lab is up, and the snapshot sees little of it")
	}
	run("down", "tbisolated")
	cycle := 0
	for ; !moments.enough(cycle, cycles); cycle++ {
		after := moments.kill(t, exec.Command(binary, "up", file), func() bool { return len(before.changes(takeSnapshot(t))) > 0 })
		run("down", "tbisolated")
		if changes := before.changes(takeSnapshot(t)); len(changes) > 0 {
			t.Fatalf("cycle %d, killed after %v:\n%s", cycle, after, strings.Join(changes, "\n"))
		}
		if changes := functions.changes(t); changes != "" {
			t.Fatalf("cycle %d, killed after %v: the cards have changed:\n%s", cycle, after, changes)
		}
		if left, _ := os.ReadDir(pci.ClaimsDir); len(left) > 0 {
			t.Fatalf("cycle %d, killed after %v: claims are left: %v", cycle, after, left)
		}
		if cycle%5 == 4 {
			t.Logf("%d cycles in %v, %d killed", cycle+1, time.Since(begun).Round(time.Second), moments.killed)
		}
	}
	moments.report(t, cycle)
}
