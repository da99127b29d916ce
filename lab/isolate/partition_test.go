package isolate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// These tests run on folders that look like hierarchies; the virtual laboratory checks what they
// write against the kernel's rules (TestLab… of package lab).

func isolatingLab(t *testing.T, degree spec.Isolation) *Lab {
	t.Helper()
	l := testLab(t)
	l.Plan = testPlan(degree, plan.Node{Name: "dut", HostName: "p-dut", CPUs: []int{2}, Isolated: true})
	l.Plan.IsolatedCPUs = []int{2, 3} // 3 is its idle sibling
	return l
}

func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got, err := readFile(filepath.Join(dir, name)); err != nil || got != text {
			t.Errorf("%s holds %q, not %q: %v", name, got, text, err)
		}
	}
}

// files makes files below a folder.
func files(t *testing.T, dir string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVersion1HasAHousekeepingSet(t *testing.T) {
	h := tree(t, 1, nil)
	files(t, h.Mount, map[string]string{
		"cpuset.cpus": "0-3", "cpuset.mems": "0-1", "cpuset.sched_load_balance": "1", "cgroup.clone_children": "0", "tasks": "",
		"docker/cpuset.cpus": "0-3", "docker/box/cpuset.cpus": "1-2", "docker/empty/cpuset.cpus": "",
	})
	l := isolatingLab(t, spec.IsolationIsolated)
	l.Plan.Nodes[0].Runtime = spec.RuntimeLXC
	if err := l.prepareV1(h, tasks.Set{2, 3}); err != nil {
		t.Fatal(err)
	}
	holds(t, h.Mount, map[string]string{
		"p/cpuset.cpus": "2-3", "p/cpuset.mems": "0-1", "p/cpuset.cpu_exclusive": "1", "p/cpuset.sched_load_balance": "0",
		"p.host/cpuset.cpus": "0-1", "p.host/cpuset.mems": "0-1",
		"docker/cpuset.cpus": "0-1", "docker/box/cpuset.cpus": "1", "docker/empty/cpuset.cpus": "",
		"cpuset.sched_load_balance": "0",
	})
	// Undo goes backwards: the deepest set must get its CPUs back after those above it, and all of
	// them after our sets are removed.
	var order []string
	for _, e := range l.Journal.Entries() {
		order = append(order, string(e.Kind)+" "+strings.TrimPrefix(e.Path+e.Name, h.Mount))
	}
	want := "setting /docker/box/cpuset.cpus, setting /docker/cpuset.cpus, cgroup p, cgroup p.host, setting /cgroup.clone_children, housekeeping /p.host, setting /cpuset.sched_load_balance"
	if got := strings.Join(order, ", "); got != want {
		t.Errorf("journalled: %s\nnot:        %s", got, want)
	}
	if err := l.Journal.Undo(context.Background(), nil, func(e journal.Entry) bool { return e.Kind == setting.Kind }); err != nil {
		t.Fatal(err)
	}
	holds(t, h.Mount, map[string]string{"docker/cpuset.cpus": "0-3", "docker/box/cpuset.cpus": "1-2", "cpuset.sched_load_balance": "1"})
}

func TestPartitionOfVersion1LeavesLoadBalancing(t *testing.T) {
	h := tree(t, 1, nil)
	files(t, h.Mount, map[string]string{"cpuset.cpus": "0-3", "cpuset.mems": "0", "cpuset.sched_load_balance": "1", "tasks": ""})
	if err := isolatingLab(t, spec.IsolationPartition).prepareV1(h, tasks.Set{2, 3}); err != nil {
		t.Fatal(err)
	}
	holds(t, h.Mount, map[string]string{"p/cpuset.cpu_exclusive": "1", "cpuset.sched_load_balance": "1"})
	if exists(filepath.Join(h.Mount, "p", balanceFile)) {
		t.Error("the partition balances no load")
	}
}

func TestASetThatWouldBeLeftWithoutCPUsIsNotTouched(t *testing.T) {
	h := tree(t, 1, nil)
	files(t, h.Mount, map[string]string{"cpuset.cpus": "0-3", "other/cpuset.cpus": "3", "tasks": ""})
	var missing *exit.MissingError
	if err := isolatingLab(t, spec.IsolationIsolated).prepareV1(h, tasks.Set{2, 3}); !errors.As(err, &missing) || !strings.Contains(err.Error(), "other has CPUs 3") {
		t.Errorf("got %v", err)
	}
	holds(t, h.Mount, map[string]string{"other/cpuset.cpus": "3"})
}

// version2 is a folder like a cgroup v2 hierarchy, in which a new group has the files that the
// kernel would make.
func version2(t *testing.T, groups map[string]string) cgroup.Hierarchy {
	t.Helper()
	h := tree(t, 2, nil)
	files(t, h.Mount, map[string]string{"cgroup.subtree_control": "cpuset"})
	for dir, effective := range groups {
		files(t, h.Mount, map[string]string{dir + "/" + partitionFile: "member", dir + "/" + effectiveFile: effective})
	}
	return h
}

func TestVersion2MakesTheLabsGroupAPartition(t *testing.T) {
	for degree, word := range map[spec.Isolation]string{spec.IsolationPartition: "root", spec.IsolationIsolated: "isolated"} {
		h := version2(t, map[string]string{"p": "2-3"})
		if err := isolatingLab(t, degree).prepareV2(h, tasks.Set{2, 3}); err != nil {
			t.Fatal(err)
		}
		holds(t, h.Mount, map[string]string{"p/cpuset.cpus": "2-3", "p/cpuset.cpus.partition": word, "p/cgroup.subtree_control": "+cpuset"})
	}
}

func TestVersion2MakesRemotePartitionsOfNodes(t *testing.T) {
	h := version2(t, map[string]string{"p/p-dut": "2", "p/p.idle": "3"})
	for _, dir := range []string{"p", "p/p-dut", "p/p.idle"} {
		files(t, h.Mount, map[string]string{dir + "/" + exclusiveFile: ""})
	}
	l := isolatingLab(t, spec.IsolationIsolated)
	if err := l.prepareV2(h, tasks.Set{2, 3}); err != nil {
		t.Fatal(err)
	}
	if err := partition(h, filepath.Join(h.Mount, "p/p-dut"), tasks.Set{2}, spec.IsolationIsolated); err != nil {
		t.Fatal(err)
	}
	holds(t, h.Mount, map[string]string{
		"p/cpuset.cpus.exclusive":       "2-3",
		"p/p-dut/cpuset.cpus.exclusive": "2", "p/p-dut/cpuset.cpus.partition": "isolated",
		"p/p.idle/cpuset.cpus.exclusive": "3", "p/p.idle/cpuset.cpus.partition": "isolated",
	})
	if exists(filepath.Join(h.Mount, "p", partitionFile)) {
		t.Error("the lab's group is a partition itself")
	}
}

func TestAPartitionWithoutItsCPUsIsRefused(t *testing.T) {
	h := version2(t, map[string]string{"p": "2"})
	var missing *exit.MissingError
	if err := isolatingLab(t, spec.IsolationIsolated).prepareV2(h, tasks.Set{2, 3}); !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
}

// TestTheKernelsReasonsAreExplained: each of the kernel's reasons, and who has the CPUs.
func TestTheKernelsReasonsAreExplained(t *testing.T) {
	h := version2(t, nil)
	files(t, h.Mount, map[string]string{"machine.slice/cpuset.cpus": "3-5", "p/cpuset.cpus": "2-3"})
	for said, want := range map[string]string{
		"isolated invalid (Cpu list in cpuset.cpus not exclusive)":              "machine.slice has 3-5; take down what has these CPUs",
		"isolated invalid (partition config conflicts with housekeeping setup)": "remove isolcpus=",
		"isolated invalid (Parent is not a partition root)":                     "only below a partition",
		"root invalid (Parent unable to distribute cpu downstream)":             "leave at least one",
		"root invalid (something new)":                                          "--set isolation=affinity",
	} {
		err := explainInvalid(h, filepath.Join(h.Mount, "p"), tasks.Set{2, 3}, said)
		if err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is explained as: %v", said, err)
		}
		if strings.Contains(err.Error(), "p has 2-3") {
			t.Errorf("our own group is blamed: %v", err)
		}
	}
}
