package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// tree is a folder that looks like a hierarchy of control groups.
func tree(t *testing.T, version int, files map[string]string) cgroup.Hierarchy {
	t.Helper()
	h := cgroup.Hierarchy{Mount: t.TempDir(), Version: version, Controllers: []string{"cpuset", "memory"}}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(h.Mount, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// testNode is a node without limits.
var testNode = plan.Node{Name: "dut", HostName: "p-dut"}

// testPlan is a plan with the prefix p and the nodes.
func testPlan(isolation spec.Isolation, nodes ...plan.Node) *plan.Plan {
	p := &plan.Plan{Prefix: "p", HousekeepingCPUs: []int{0}, Isolation: isolation, Nodes: nodes}
	for _, n := range nodes {
		if n.Isolated {
			p.IsolatedCPUs = append(p.IsolatedCPUs, n.CPUs...)
		}
	}
	return p
}

// testLab is a lab with the prefix p and its own journal.
func testLab(t *testing.T) *Lab {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Create(filepath.Join(dir, "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return &Lab{Journal: j, Plan: testPlan(spec.IsolationAffinity, testNode), Ledger: filepath.Join(dir, "settings.json")}
}

func TestFilesOfBothVersions(t *testing.T) {
	n := plan.Node{Name: "dut", HostName: "p-dut", CPUs: []int{2, 3, 8}, MemoryNodes: []int{1}, MemoryBytes: 1 << 20}
	for name, test := range map[string]struct {
		h    cgroup.Hierarchy
		want map[string]string
	}{
		"v1": {tree(t, 1, map[string]string{"cpuset.cpus": "0-9\n", "cpuset.mems": "0-1\n"}), map[string]string{
			"p/cpuset.cpus": "0-9", "p/cpuset.mems": "0-1",
			"p/p-dut/cpuset.cpus": "2-3,8", "p/p-dut/cpuset.mems": "1", "p/p-dut/memory.limit_in_bytes": "1048576",
		}},
		"v2": {tree(t, 2, map[string]string{"cgroup.subtree_control": "memory\n"}), map[string]string{
			"p/p-dut/cpuset.cpus": "2-3,8", "p/p-dut/memory.max": "1048576",
		}},
	} {
		l := testLab(t)
		for _, c := range Controllers(l.Plan, n) {
			dir, err := l.group(test.h, c, n)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, limit := range Limits(l.Plan, n, test.h.Version, c) {
				if err := write(filepath.Join(dir, limit.File), limit.Value); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		}
		for file, want := range test.want {
			text, err := os.ReadFile(filepath.Join(test.h.Mount, file))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %s holds %q, not %q: %v", name, file, text, want, err)
			}
		}
		restored := 0
		for _, e := range l.Journal.Entries() {
			if e.Kind == setting.Kind && e.Old == "-cpuset" {
				restored++
			}
		}
		if want := test.h.Version - 1; restored != want {
			t.Errorf("%s: %d changes to the host's own group journalled, not %d", name, restored, want)
		}
	}
}

func TestOnlyWhatANodeNeedsIsControlled(t *testing.T) {
	own, limited := plan.Node{CPUs: []int{1}, MemoryBytes: 1}, plan.Node{CPUs: []int{0}, HugepageBytes: 1}
	alone := plan.Node{CPUs: []int{1}, Isolated: true}
	bare := plan.Node{Runtime: spec.RuntimeHost, CPUs: []int{1}, MemoryBytes: 1}
	machine := plan.Node{Runtime: spec.RuntimeVM, CPUs: []int{1}, MemoryBytes: 1}
	for _, test := range []struct {
		degree spec.Isolation
		node   plan.Node
		want   []Controller
	}{
		{spec.IsolationAffinity, plan.Node{CPUs: []int{0}}, nil},
		{spec.IsolationAffinity, own, []Controller{CPUSet, Memory}},
		{spec.IsolationAffinity, limited, []Controller{HugeTLB}},
		{spec.IsolationAffinity, bare, nil},
		{spec.IsolationAffinity, machine, nil},
		{spec.IsolationNone, own, []Controller{Memory}},
		{spec.IsolationNone, plan.Node{Runtime: spec.RuntimeLXC}, []Controller{PIDs}},
		{spec.IsolationNone, plan.Node{Runtime: spec.RuntimeLXC, Privileged: true}, nil},
		{spec.IsolationIsolated, alone, []Controller{CPUSet}},
		{spec.IsolationIsolated, plan.Node{CPUs: []int{0}}, nil},
	} {
		if got := Controllers(testPlan(test.degree), test.node); !slices.Equal(got, test.want) {
			t.Errorf("%s, %+v: %v, not %v", test.degree, test.node, got, test.want)
		}
	}
}

func TestLimitsOfHugepages(t *testing.T) {
	n := plan.Node{HugepageBytes: 64 << 20, HugepageSize: 2 << 20}
	for version, want := range map[int][]Limit{
		1: {{"hugetlb.2MB.limit_in_bytes", "67108864"}, {"hugetlb.2MB.rsvd.limit_in_bytes", "67108864"}},
		2: {{"hugetlb.2MB.max", "67108864"}, {"hugetlb.2MB.rsvd.max", "67108864"}},
	} {
		if got := Limits(testPlan(spec.IsolationAffinity), n, version, HugeTLB); !slices.Equal(got, want) {
			t.Errorf("version %d: %v", version, got)
		}
	}
	for size, want := range map[int64]string{64 << 10: "64KB", 2 << 20: "2MB", 1 << 30: "1GB"} {
		if got := pageName(size); got != want {
			t.Errorf("%d bytes are %s", size, got)
		}
	}
}

// Nodes that are not isolated stay out of the partition, and so do containers' monitors.
func TestParents(t *testing.T) {
	in, out := plan.Node{Isolated: true}, plan.Node{}
	for _, test := range []struct {
		degree           spec.Isolation
		in, out, monitor string
	}{
		{spec.IsolationAffinity, "p", "p", "p"},
		{spec.IsolationPartition, "p", "p.host", "p.host"},
		{spec.IsolationIsolated, "p", "p.host", "p.host"},
	} {
		p := testPlan(test.degree)
		if a, b, c := Parent(p, in), Parent(p, out), MonitorParent(p); a != test.in || b != test.out || c != test.monitor {
			t.Errorf("%s: %s, %s, %s", test.degree, a, b, c)
		}
	}
}
