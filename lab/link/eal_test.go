package link

import (
	"strings"
	"testing"

	"nines.dev/nines/plan"
)

func TestArgumentsForDPDK(t *testing.T) {
	for _, test := range []struct {
		dpdk plan.DPDK
		want string
	}{
		{
			plan.DPDK{Prefix: "q-l1", MemoryBytes: 64 << 20, MemoryNode: 1, Huge: true},
			"--iova-mode=va --no-telemetry --file-prefix=q-l1 --in-memory --single-file-segments --socket-mem=0,64 --no-pci",
		},
		{
			plan.DPDK{Prefix: "q-l1", MemoryBytes: 64<<20 + 1, PCI: []string{"0000:01:00.0", "0000:01:00.1"}},
			"--iova-mode=va --no-telemetry --file-prefix=q-l1 --no-shconf --no-huge -m65 --allow=0000:01:00.0 --allow=0000:01:00.1",
		},
	} {
		if got := strings.Join(ealArguments(test.dpdk), " "); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
