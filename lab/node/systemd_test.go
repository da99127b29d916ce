package node

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/plan"
)

// TestSystemdFiles: listings 5.11 and 5.12 of the thesis as files, where cgroup v2 has the cpuset
// controller, and their replacement where it has not.
func TestSystemdFiles(t *testing.T) {
	n := plan.Node{HostName: "lab-dut", CPUs: []int{7, 8, 9}}
	slices9 := map[string]string{
		"etc/systemd/system/system.slice.d/nines.conf": "[Slice]\nAllowedCPUs=7\n",
		"etc/systemd/system/user.slice.d/nines.conf":   "[Slice]\nAllowedCPUs=7\n",
		"etc/systemd/system/init.scope.d/nines.conf":   "[Scope]\nAllowedCPUs=7\n",
		"etc/systemd/system/nines.slice":               "[Unit]\nDescription=What is measured\n\n[Slice]\nAllowedCPUs=7-9\n",
	}
	affinity := map[string]string{
		"etc/systemd/system.conf.d/nines.conf": "[Manager]\nCPUAffinity=7\n",
		"etc/systemd/system/nines.slice":       "[Unit]\nDescription=What is measured\n\n[Slice]\n",
	}
	anywhere := map[string]string{"etc/systemd/system/nines.slice": affinity["etc/systemd/system/nines.slice"]}
	for _, test := range []struct {
		name       string
		cpus       []int
		limitsCPUs bool
		want       map[string]string
	}{
		{"version 2", n.CPUs, true, slices9},
		{"no cpuset in version 2", n.CPUs, false, affinity},
		{"isolation none", nil, true, anywhere},
	} {
		n.CPUs = test.cpus
		got := systemdFiles(n, test.limitsCPUs)
		cpuFiles := map[string]string{}
		for path, text := range got {
			if strings.HasSuffix(path, ".conf") || strings.HasSuffix(path, workloadSlice) {
				cpuFiles[path] = text
			}
		}
		if diff := cmp.Diff(test.want, cpuFiles); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		rest := slices.DeleteFunc(slices.Sorted(maps.Keys(got)), func(path string) bool { return cpuFiles[path] != "" })
		want := []string{
			"etc/machine-id", "etc/systemd/system/apt-daily-upgrade.timer", "etc/systemd/system/apt-daily.timer",
			"etc/systemd/system/console-getty.service", "etc/systemd/system/default.target",
			"etc/systemd/system/multi-user.target.wants/nines-workload.service", "etc/systemd/system/nines-workload.service",
		}
		if diff := cmp.Diff(want, rest); diff != "" {
			t.Errorf("%s: the other files (-want +got):\n%s", test.name, diff)
		}
	}
}
