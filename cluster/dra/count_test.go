package dra

import (
	"strings"
	"testing"

	resource "k8s.io/api/resource/v1"

	"nines.dev/nines/host"
)

// TestPortsTakeTheirPartOfALink, whatever their tiers: the scheduler adds up what they take.
func TestPortsTakeTheirPartOfALink(t *testing.T) {
	inv, err := inventory(t, `links: [{parent: br0, mbit: 500}, {parent: br0, mbit: 900, nodes: [n2]}]
ports:
- {tier: macvlan, parent: eth0, count: 70, mbit: 2500}
- {tier: bridge, parent: br0, count: 1, mbit: 100}
- {tier: bridge, parent: br1, count: 1, mbit: 100}
- {tier: macvlan, parent: eth1, count: 1}
`, "n1")
	if err != nil {
		t.Fatal(err)
	}
	node := &host.Inventory{NICs: []host.NIC{{Name: "eth0", SpeedMbit: 10_000}, {Name: "eth1", SpeedMbit: 10_000}, {Name: "br0"}, {Name: "br1", SpeedMbit: -1}}}
	pool, missing := Pool(inv, node, nil)
	if len(missing) != 1 || !strings.Contains(missing[0], "a known bandwidth of br1") {
		t.Errorf("missing: %q", missing)
	}
	// A slice has counters or devices, and fewer of these where they take of counters.
	if len(pool.Slices) != 3 || len(pool.Slices[0].Devices) > 0 || len(pool.Slices[1].Devices) != resource.ResourceSliceMaxDevicesWithAdvancedFeatures {
		t.Fatalf("%d slices", len(pool.Slices))
	}
	totals := map[string]int64{}
	for _, s := range pool.Slices[0].SharedCounters {
		c := s.Counters["mbit"]
		totals[s.Name] = c.Value.Value()
	}
	if len(totals) != 2 || totals["link-eth0"] != 10_000 || totals["link-br0"] != 500 {
		t.Errorf("the links have %v", totals)
	}
	for _, s := range pool.Slices[1:] {
		for _, d := range s.Devices {
			takes, has := d.ConsumesCounters, d.Capacity[capacityMbit]
			switch {
			case strings.HasPrefix(d.Name, "macvlan-eth0-"):
				if c := takes[0].Counters["mbit"]; takes[0].CounterSet != "link-eth0" || c.Value.Value() != 2500 || has.Value.Value() != 2500 {
					t.Errorf("%s takes %+v", d.Name, takes)
				}
			case d.Name == "macvlan-eth1-1":
				if len(takes)+len(d.Capacity) > 0 {
					t.Errorf("%s takes %+v of %+v", d.Name, takes, d.Capacity)
				}
			}
		}
	}
}

// TestADeviceThatIsSharedSaysWhatThereIs, and what a claim takes that does not say.
func TestADeviceThatIsSharedSaysWhatThereIs(t *testing.T) {
	inv, err := inventory(t, "ports: [{tier: switch, count: 8, shared: {pps: 4000000}}]", "n1")
	if err != nil || !inv.Switch {
		t.Fatal(inv, err)
	}
	pool, missing := Pool(inv, &host.Inventory{}, nil)
	if len(missing) > 0 || len(pool.Slices) != 1 || len(pool.Slices[0].Devices) != 1 {
		t.Fatalf("%+v, missing %q", pool, missing)
	}
	d := pool.Slices[0].Devices[0]
	pps, ports := d.Capacity[capacityPPS], d.Capacity[capacityPorts]
	if d.Name != "switch" || !*d.AllowMultipleAllocations || pps.Value.Value() != 4_000_000 || pps.RequestPolicy.Default.Value() != 500_000 ||
		ports.Value.Value() != 8 || ports.RequestPolicy.Default.Value() != 1 || len(d.Capacity) != 2 {
		t.Errorf("%+v", d)
	}
}
