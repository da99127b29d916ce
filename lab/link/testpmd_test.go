package link

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/plan"
)

func TestArgumentsOfTestpmd(t *testing.T) {
	l := plan.Link{MTU: 1500, Switch: &plan.Switch{
		CPUs: []int{2, 3}, HousekeepingCPU: 0, DPDK: &plan.DPDK{Prefix: "q.l1", MemoryBytes: 128 << 20, Huge: true},
	}}
	got := testpmdArguments(l, []string{"net_vhost0,iface=/a", "net_vhost1,iface=/b"})
	for _, want := range []string{
		"--lcores=0@0,1@2,2@3", "--file-prefix=q.l1", "--vdev=net_vhost0,iface=/a", "--nb-cores=2",
		"--total-num-mbufs=32768", "--mbuf-size=2176", "--forward-mode=io",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in %v", want, got)
		}
	}
	l.MTU = 9000
	jumbo := strings.Join(testpmdArguments(l, nil), " ")
	// 3/4 of 128 MiB in buffers of 9024 + 320 bytes.
	for _, want := range []string{"--mbuf-size=9152", "--max-pkt-len=9018", "--total-num-mbufs=10773"} {
		if !strings.Contains(jumbo, want) {
			t.Errorf("%s is not in %s", want, jumbo)
		}
	}
	l.MTU, l.Switch.DPDK.Huge = 1500, false
	// 3/4 of 128 MiB in pages of 4 KiB, one buffer in each.
	if small := testpmdArguments(l, nil); !slices.Contains(small, "--total-num-mbufs=24576") {
		t.Errorf("without hugepages: %v", small)
	}
}
