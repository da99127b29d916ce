package isolate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/testbed/cgroup"
	"nines.dev/nines/testbed/journal"
	"nines.dev/nines/testbed/plan"
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

// testLab is a lab with the prefix p and a journal of its own.
func testLab(t *testing.T) *Lab {
	t.Helper()
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return &Lab{Journal: j, Prefix: "p"}
}

func TestFilesOfBothVersions(t *testing.T) {
	n := plan.Node{Name: "dut", HostName: "p-dut", CPUs: []int{2, 3, 8}, MemoryBytes: 1 << 20}
	for name, test := range map[string]struct {
		h    cgroup.Hierarchy
		want map[string]string
	}{
		"v1": {tree(t, 1, map[string]string{"cpuset.cpus": "0-9\n", "cpuset.mems": "0-1\n"}), map[string]string{
			"p/cpuset.cpus": "0-9", "p/cpuset.mems": "0-1",
			"p/p-dut/cpuset.cpus": "2-3,8", "p/p-dut/cpuset.mems": "0-1", "p/p-dut/memory.limit_in_bytes": "1048576",
		}},
		"v2": {tree(t, 2, map[string]string{"cgroup.subtree_control": "memory\n"}), map[string]string{
			"p/p-dut/cpuset.cpus": "2-3,8", "p/p-dut/memory.max": "1048576",
		}},
	} {
		l := testLab(t)
		for _, c := range Controllers(n, []int{0}) {
			dir, err := l.group(test.h, c, n)
			if err == nil {
				err = l.limit(test.h, c, dir, n)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
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
			if e.Kind == journal.KindSetting && e.Old == "-cpuset" {
				restored++
			}
		}
		if want := test.h.Version - 1; restored != want {
			t.Errorf("%s: %d changes to the host's own group journalled, not %d", name, restored, want)
		}
	}
}

func TestOnlyWhatANodeNeedsIsControlled(t *testing.T) {
	housekeeping := []int{0, 1}
	if got := Controllers(plan.Node{CPUs: housekeeping}, housekeeping); len(got) != 0 {
		t.Errorf("a node on the housekeeping CPUs gets %v", got)
	}
	if got := Controllers(plan.Node{CPUs: []int{1}, MemoryBytes: 1}, housekeeping); len(got) != 2 {
		t.Errorf("a node with a CPU of its own and a limit gets %v", got)
	}
}
