package isolate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestInterruptsOfADeviceComeBesideItsNode(t *testing.T) {
	root := machine(t, map[string]string{
		"sys/bus/pci/devices/0000:01:10.0/msi_irqs/40": "msix", "sys/bus/pci/devices/0000:01:10.0/msi_irqs/41": "msix",
		"sys/bus/pci/devices/0000:01:10.1/msi_irqs/42": "msix", "sys/bus/pci/devices/0000:01:10.2/msi_irqs/43": "msix",
		"proc/irq/40/eth2-rx-0/x": "", "proc/irq/42/x": "", "proc/irq/43/x": "",
	})
	inv := &host.Inventory{CPUs: []host.CPU{{ID: 0, NUMANode: 0}, {ID: 1, NUMANode: 1}}}
	p := &plan.Plan{
		Isolation: spec.IsolationIsolated, HousekeepingCPUs: []int{0, 1},
		Nodes: []plan.Node{
			{Name: "two", CPUs: []int{4, 5}, App: &plan.App{CPU: 5}},
			{Name: "one", CPUs: []int{6}, App: &plan.App{CPU: 6}},
		},
		Links: []plan.Link{{Endpoints: []plan.Endpoint{
			{Node: "two", Function: plan.Function{Address: "0000:01:10.0", NUMANode: 1}},
			{Node: "one", Function: plan.Function{Address: "0000:01:10.1", NUMANode: 1}},
			{Node: "one", Function: plan.Function{Address: "0000:01:10.2", NUMANode: 1, Driver: spec.DriverVFIO}},
		}}},
	}
	var got []string
	for _, s := range Queues(root, p, p.Links[0], inv) {
		got = append(got, strings.TrimPrefix(s.Path, root)+" = "+s.Value+"; "+s.Device)
	}
	want := []string{
		"/proc/irq/40/smp_affinity_list = 4; irq 40 (eth2-rx-0)", "/proc/irq/41/smp_affinity_list = 4; irq 41",
		"/proc/irq/42/smp_affinity_list = 1; irq 42", // interrupts stay off the engine's only CPU
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Isolation = spec.IsolationAffinity
	if got := Queues(root, p, p.Links[0], inv); len(got) > 0 {
		t.Errorf("with affinity: %v", got)
	}
}
