package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestWithoutIsolationNothingIsPinned brings the same lab up with affinity and with none, and
// checks the groups and the affinity of its engine.
func TestWithoutIsolationNothingIsPinned(t *testing.T) {
	labtest.Root(t)
	labs.NeedLXC(t)
	h, err := isolate.Find(isolate.CPUSet)
	if err != nil {
		t.Fatal(err)
	}
	for degree, own := range map[spec.Isolation]bool{spec.IsolationAffinity: true, spec.IsolationNone: false} {
		t.Run(string(degree), func(t *testing.T) {
			text := "isolation: " + string(degree) + "\n" + strings.Replace(labs.Pair("tbpinned", ""),
				"b: {runtime: netns}", "b: {runtime: lxc, cpus: 1, app: {kind: reflect, backend: raw}}", 1)
			lab := up(t, text)
			all := tasks.Set(labs.Plan(t, text).HousekeepingCPUs)
			if own {
				all = tasks.Set(lab.Plan().Node("b").CPUs)
			}
			dirs, err := cgroup.DirsOf(lab.PID("b"))
			if err != nil {
				t.Fatal(err)
			}
			cpus, err := os.ReadFile(filepath.Join(dirs[h.Mount], map[int]string{1: "cpuset.effective_cpus", 2: "cpuset.cpus.effective"}[h.Version]))
			if err != nil || strings.TrimSpace(string(cpus)) != all.String() {
				t.Errorf("the cpuset of b has %q, not %s: %v", cpus, all, err)
			}
			for _, thread := range threadsOf(t) {
				if thread.Name == "nines-engine" && inNode(t, lab, thread, "b") && !thread.CPUs.Equal(all) {
					t.Errorf("thread %d of the engine may use %s, not %s", thread.ID, thread.CPUs, all)
				}
			}
			if state, err := lab.Isolation(); err != nil || state.Degree != degree || len(state.CPUs) > 0 {
				t.Errorf("%+v, %v", state, err)
			}
		})
	}
}

// inNode is true for a thread in a node's network namespace.
func inNode(t *testing.T, lab *Lab, thread tasks.Thread, name string) bool {
	t.Helper()
	a, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", thread.Process))
	if err != nil {
		return false
	}
	b, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", lab.PID(name)))
	return err == nil && a == b
}

// hugepagesVariable makes this test's binary take hugepages and print how many it got.
const hugepagesVariable = "NINES_TEST_HUGEPAGES"

func TestMain(m *testing.M) {
	if text := os.Getenv(hugepagesVariable); text != "" {
		wanted, err := strconv.Atoi(text)
		got := 0
		for ; err == nil && got < wanted; got++ {
			var page []byte
			page, err = unix.Mmap(-1, 0, 2<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)
			if err != nil {
				break
			}
			page[0] = 1
		}
		fmt.Printf("got %d\n", got)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestANodeTakesNoMoreHugepagesThanItsLimit(t *testing.T) {
	labtest.Root(t)
	labtest.Hugepages(t)
	const numbers = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	_, err := isolate.Find(isolate.HugeTLB)
	labtest.Require(t, "the hugetlb controller", err == nil)
	before, err := os.ReadFile(numbers)
	labtest.Require(t, "hugepages of 2 MiB", err == nil)
	t.Cleanup(func() {
		if err := os.WriteFile(numbers, before, 0o644); err != nil {
			t.Error(err)
		}
	})
	was, err := strconv.Atoi(strings.TrimSpace(string(before)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(numbers, []byte(strconv.Itoa(was+8)), 0o644); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(labs.Pair("tbisohuge", ""), "b: {runtime: netns}", "b: {runtime: netns, hugepage_limit: 6MiB}", 1)
	lab := up(t, text)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]string{"a": "got 6", "b": "got 3"} {
		cmd, err := lab.Command(context.Background(), node, []string{self}, running.ExecOptions{Env: []string{hugepagesVariable + "=6"}})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("node %s asks for 6 pages and %s, not %s: %v", node, out, want, err)
		}
	}
}

// planWith plans for this host as if it had that many CPUs, each with its own core.
func planWith(t *testing.T, text string, cpus int) *plan.Plan {
	t.Helper()
	return labs.PlanOn(t, text, func(inventory *host.Inventory) {
		inventory.CPUs, inventory.AllowedCPUs = nil, nil
		inventory.Hugepages = []host.Hugepages{{SizeBytes: 2 << 20}}
		for id := range cpus {
			inventory.CPUs = append(inventory.CPUs, host.CPU{ID: id, Online: true, Core: id, NUMANode: inventory.NUMANodes[0].ID, Siblings: []int{id}})
			inventory.AllowedCPUs = append(inventory.AllowedCPUs, id)
		}
	})
}

// TestALabIsolatesFromItsNameOn: a lab that has reserved its name, but made nothing yet, already
// keeps others from isolating.
func TestALabIsolatesFromItsNameOn(t *testing.T) {
	labtest.Require(t, "root, to search for what a lab has left", os.Geteuid() == 0)
	p := planWith(t, labs.Isolated, 4)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	p.Prefix = "nines-enrolled" // no lab on this machine has it
	for i := range p.Nodes {
		p.Nodes[i].HostName = fmt.Sprint(p.Prefix, ".", i)
	}
	held, err := reserve(context.Background(), UpOptions{Plan: p, Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	second := *p
	second.Name, second.Prefix = "second", "second"
	if err := vacant(&second); err == nil || !strings.Contains(err.Error(), "isolates CPUs of this host already") {
		t.Errorf("a second lab that isolates: %v", err)
	}
	if err := errors.Join(held.undoAll(context.Background(), func(string) {}), held.free()); err != nil {
		t.Error(err)
	}
	if err := vacant(&second); err != nil {
		t.Errorf("when the first is gone: %v", err)
	}
}

// TestALabsOwnCPUsAreItsPlans: other plans may not use the CPUs that a lab isolates, but a plan for
// that lab may.
func TestALabsOwnCPUsAreItsPlans(t *testing.T) {
	p := planWith(t, labs.Isolated, 4)
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	made := state.Of(p.Name)
	if err := os.MkdirAll(made.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := made.WritePlan(p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(made.Journal(), []byte(`{"journal":"nines/journal/v1","lab":"`+p.Name+`"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	inv := &host.Inventory{AllowedCPUs: []int{0}, CPUs: []host.CPU{{ID: p.IsolatedCPUs[0], Isolated: true}}}
	got := WithOwnCPUs(inv, p.Name)
	if !slices.Equal(got.AllowedCPUs, append([]int{0}, p.IsolatedCPUs...)) || got.CPUs[0].Isolated {
		t.Errorf("%+v", got)
	}
	if other := WithOwnCPUs(inv, "another"); !slices.Equal(other.AllowedCPUs, []int{0}) || !inv.CPUs[0].Isolated {
		t.Errorf("another lab's plan: %+v", other)
	}
	// One lab at a time.
	second := *p
	second.Name, second.Prefix = "second", "second"
	if err := vacant(&second); err == nil || !strings.Contains(err.Error(), "isolates CPUs of this host already") {
		t.Errorf("a second lab that isolates: %v", err)
	}
	second.Isolation = spec.IsolationAffinity
	if err := vacant(&second); err != nil {
		t.Errorf("one that does not: %v", err)
	}
}
