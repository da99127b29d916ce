package plan

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// TestHugepagesOfPrograms: VPP takes its buffers on each NUMA node, and more for long frames and
// many ports, Snabb more for many ports. The numbers of pages are those that the programs took.
func TestHugepagesOfPrograms(t *testing.T) {
	for _, c := range []struct {
		kind       spec.LinkKind
		ports, mtu int
		nodes      int
		want       string
	}{
		{spec.LinkVPP, 2, 1500, 1, "19 on 0"},
		{spec.LinkVPP, 2, 9000, 1, "73 on 0"},
		{spec.LinkVPP, 8, 1500, 1, "38 on 0"},
		{spec.LinkVPP, 2, 9000, 2, "73 on 0, 73 on 1"},
		{spec.LinkSnabb, 2, 9000, 2, "38 on 0"},
		{spec.LinkSnabb, 4, 1500, 1, "81 on 0"},
	} {
		exp := bypass(c.kind, false)
		exp.Topology.Links[0].MTU = c.mtu
		for i := 2; i < c.ports; i++ {
			exp.Topology.Links[0].Endpoints = append(exp.Topology.Links[0].Endpoints, fmt.Sprintf("a:p%d", i))
		}
		inv := bypassHost(8, 1)
		inv.NUMANodes[0].CPUs = []int{0, 1, 2, 3, 4, 5, 6}
		for id := 1; id < c.nodes; id++ {
			inv.NUMANodes = append(inv.NUMANodes, host.NUMANode{ID: id, CPUs: []int{7}, MemoryTotalBytes: 1 << 30})
		}
		p, err := Make(exp, inv)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range p.Hugepages.Demands {
			if d.Who == "link l" {
				got = append(got, fmt.Sprintf("%d on %d", d.Pages, d.MemoryNode))
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s with %d ports and an MTU of %d takes %v, want %s", c.kind, c.ports, c.mtu, got, c.want)
		}
	}
}

// TestSnabbWithoutHugepages: Snabb takes hugepages whatever it is told, so the plan refuses to do
// without, and no remedy for a lack of them is to do without.
func TestSnabbWithoutHugepages(t *testing.T) {
	exp := bypass(spec.LinkSnabb, false)
	exp.DPDK = &spec.DPDK{Hugepages: spec.HugepagesNone}
	const want = "dpdk.hugepages is none, and snabb needs hugepages for its packets"
	if _, err := Make(exp, bypassHost(4, 1)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	for _, mode := range []spec.Hugepages{spec.HugepagesAuto, spec.HugepagesReserve} {
		exp.DPDK.Hugepages = mode
		inv := bypassHost(4, 1)
		p, err := Make(exp, inv)
		if err != nil {
			t.Fatal(err)
		}
		inv.NUMANodes[0].MemoryFreeBytes, inv.NUMANodes[0].Hugepages = 0, nil
		inv.Hugepages = []host.Hugepages{{SizeBytes: usualPage}}
		for _, lack := range p.Lacking(inv) {
			if strings.Contains(lack.Remedy, "none") || lack.Remedy == "" {
				t.Errorf("%s: the remedy is %q", mode, lack.Remedy)
			}
		}
	}
}
