package dra

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/exit"
)

const example = `ports:
- {tier: macvlan, parent: Eth0.7, count: 2, addresses: 10.0.0.254/23, nodes: [n1], mtu: 1400}
- {tier: bridge, parent: br0, count: 1}
- {tier: switch, count: 2, cpus: [2, 3]}
`

func inventory(t *testing.T, text, node string) (Inventory, error) {
	t.Helper()
	sources, err := ReadSources([]byte(text))
	if err != nil {
		return Inventory{}, err
	}
	return InventoryOf(sources, node, "/run/s")
}

func TestANodeHasThePortsOfItsEntries(t *testing.T) {
	all, err := inventory(t, example, "n1")
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(all.Ports)); !slices.Equal(names, []string{"bridge-br0-1", "macvlan-eth0-7-1", "macvlan-eth0-7-2", "switch-1", "switch-2"}) {
		t.Errorf("ports %q", names)
	}
	second := all.Ports["macvlan-eth0-7-2"]
	if second.Parent != "Eth0.7" || second.MTU != 1400 || len(second.Addresses) != 1 || second.Addresses[0].String() != "10.0.0.255/23" {
		t.Errorf("the second is %+v", second)
	}
	if s := all.Ports["switch-1"]; s.Socket != "/run/s" || !all.Switch || !slices.Equal(all.CPUs, []int{2, 3}) {
		t.Errorf("of the switch: %+v, %+v", s, all)
	}
	other, err := inventory(t, example, "n2")
	if err != nil || len(other.Ports) != 3 {
		t.Errorf("n2 has %v, %v", other.Ports, err)
	}
	if rest := other.without(port.Port.InSwitch); len(rest.Ports) != 1 {
		t.Errorf("without its switch it has %v", rest.Ports)
	}
	inOVS, err := inventory(t, "ports: [{tier: ovs-dpdk, parent: br-int, count: 1}]", "n1")
	if p := inOVS.Ports["ovs-dpdk-br-int-1"]; err != nil || p.Parent != "br-int" || p.Socket != port.OVSDatabase {
		t.Errorf("of Open vSwitch: %+v, %v", inOVS, err)
	}
	overlay, err := inventory(t, "ports: [{tier: ovn, parent: tenant-lan, count: 1, northbound: \"tcp:10.0.0.1:6641\", addresses: 10.9.0.1/24}]", "n1")
	if p := overlay.Ports["ovn-tenant-lan-1"]; err != nil || p.Parent != "tenant-lan" || p.Socket != port.OVSDatabase ||
		p.Northbound != "tcp:10.0.0.1:6641" || p.MTU != port.OverlayMTU || p.Addresses[0].String() != "10.9.0.1/24" {
		t.Errorf("of OVN: %+v, %v", overlay, err)
	}
	joined, err := inventory(t, "ports: [{tier: xdp, parent: fast, count: 2, addresses: 10.9.0.1/24}]", "n1")
	if p := joined.Ports["xdp-fast-2"]; err != nil || p.Parent != "fast" || p.Addresses[0].String() != "10.9.0.2/24" || p.OnDevice() {
		t.Errorf("of XDP programs: %+v, %v", joined, err)
	}
	functions, err := inventory(t, "ports: [{tier: sriov, parent: eth0, count: 2, vlan: 7}]", "n1")
	if p := functions.Ports["sriov-eth0-2"]; err != nil || p.Function != 1 || p.VLAN != 7 {
		t.Errorf("of functions: %+v, %v", functions, err)
	}
	if cards := functions.Cards(); len(cards) != 1 || cards[0] != "eth0" || len(joined.Cards()) != 0 {
		t.Errorf("functions are of %v, and of XDP programs of %v", cards, joined.Cards())
	}
	split, err := inventory(t, "ports: [{tier: sriov, parent: eth0, count: 2, driver: vfio-pci}, {tier: sriov, parent: eth0, first: 3, count: 2, vlan: 7, addresses: 10.9.0.1/24}]", "n1")
	if p := split.Ports["sriov-eth0-4"]; err != nil || len(split.Ports) != 4 || p.Function != 3 || p.VLAN != 7 || p.Driver != "" || p.Addresses[0].String() != "10.9.0.2/24" || split.Ports["sriov-eth0-2"].Driver == "" {
		t.Errorf("of one card for several: %+v, %v", split, err)
	}
	polled, err := inventory(t, "ports: [{tier: xdp, parent: fast, count: 1, afXDP: true}]", "n1")
	if p := polled.Ports["xdp-fast-1"]; err != nil || !p.AFXDP || !p.NeedsClaim() || joined.Ports["xdp-fast-1"].AFXDP {
		t.Errorf("for AF_XDP: %+v, %v", polled, err)
	}
	memory, err := inventory(t, "ports: [{tier: memif, count: 2}]", "n1")
	if err != nil || len(memory.without(port.Port.InSwitch).Ports) != 2 || memory.Ports["memif-2"].Parent != port.MemoryParent || memory.Switch {
		t.Errorf("of memory: %+v, %v", memory, err)
	}
}

func TestAWrongFileOfPortsIsRefusedWithARemedy(t *testing.T) {
	for text, words := range map[string]string{
		"ports: [{tier: macvlan, parent: eth0}]":                                                                                    "use 1 to 1024",
		"ports: [{tier: macvlan, parent: eth0, count: 3, addresses: 10.0.0.2/30}]":                                                  "a larger network",
		"ports: [{tier: macvlan, parent: eth0, count: 1, adresses: 10.0.0.2/30}]":                                                   "adresses",
		"ports: [{tier: macvlan, count: 1}]":                                                                                        "give the name of a network card",
		"ports: [{tier: teleport, parent: eth0, count: 1}]":                                                                         "choose one of bridge, macvlan, memif, ovn, ovs-dpdk, sriov, switch, vxlan, xdp",
		"ports: [{tier: switch, count: 1}, {tier: switch, count: 1}]":                                                               "one switch",
		"ports: [{tier: memif, parent: eth0, count: 1}]":                                                                            "no parent",
		"ports: [{tier: sriov, parent: eth0, count: 1, shared: {mbit: 1}}]":                                                         "remove shared",
		"ports: [{tier: bridge, parent: br0, count: 1, shared: {}}]":                                                                "as mbit or pps or both",
		"ports: [{tier: bridge, parent: br0, count: 1, mbit: 5, shared: {pps: 1}}]":                                                 "remove mbit",
		"ports: [{tier: bridge, parent: br0, count: 3, addresses: 10.0.0.2/30, shared: {pps: 1}}]":                                  "a larger network",
		"ports: [{tier: bridge, parent: br0, count: 1, shared: {pps: 1}}, {tier: bridge, parent: br0, count: 1, shared: {pps: 1}}]": "in one entry",
		"ports: [{tier: bridge, parent: br0, count: 1, mbit: 5}, {tier: macvlan, parent: br0, count: 1, shared: {mbit: 5}}]":        "use one of them",
		"ports: [{tier: bridge, parent: br0, count: 1, mbit: -5}]":                                                                  "use 1 or more",
		"{links: [{parent: br0, mbit: 4}], ports: [{tier: bridge, parent: br0, count: 1, mbit: 5}]}":                                "together have only 4",
		"{links: [{parent: br0}], ports: []}":                                                                                       "with 1 Mbit/s or more",
		"ports: [{tier: bridge, parent: br.0, count: 1, mbit: 5}, {tier: macvlan, parent: br-0, count: 1, mbit: 5}]":                "get the same name in Kubernetes",
		"ports: [{tier: xdp, count: 1}]":                                                                                            "the name of a switch of XDP programs",
		"ports: [{tier: ovs-dpdk, count: 1}]":                                                                                       "a bridge of Open vSwitch",
		"ports: [{tier: switch, count: 1, database: /x}]":                                                                           "only ports of Open vSwitch and OVN have one",
		"ports: [{tier: ovn, count: 1}]":                                                                                            "the name of a logical switch of OVN",
		"ports: [{tier: ovn, parent: lan, count: 1, northbound: 10.0.0.1}]":                                                         "or tcp:HOST:6641",
		"ports: [{tier: macvlan, parent: eth0, count: 1, northbound: unix:/x}]":                                                     "only OVN has such a database",
		"ports: [{tier: memif, count: 1, mtu: 9000}]":                                                                               "remove mtu",
		"ports: [{tier: sriov, parent: eth0, count: 1, vlan: 4095}]":                                                                "from 1 to 4094",
		"ports: [{tier: sriov, parent: eth0, count: 1, driver: uio_pci_generic}]":                                                   "may have vfio-pci",
		"ports: [{tier: sriov, parent: eth0, count: 1, driver: vfio-pci, mtu: 9000}]":                                               "remove addresses and mtu",
		"ports: [{tier: macvlan, parent: eth0, count: 1, vlan: 7}]":                                                                 "only virtual functions of a card",
		"ports: [{tier: sriov, parent: eth0, count: 4}, {tier: sriov, parent: eth0, first: 4, count: 1}]":                           "number these after those of the other entry (first)",
		"ports: [{tier: sriov, parent: eth0, first: -1, count: 1}]":                                                                 "first -1",
		"ports: [{tier: bridge, parent: br0, first: 2, count: 1, shared: {mbit: 5}}]":                                               "remove it if the ports are shared",
		"ports: [{tier: sriov, parent: eth0, count: 1, vlans: [7, 4095]}]":                                                          "from 1 to 4094",
		"ports: [{tier: sriov, parent: eth0, count: 1, vlans: [0]}]":                                                                "use 1 to 4094",
		"ports: [{tier: macvlan, parent: eth0, count: 1, vlans: [7]}]":                                                              "only virtual functions of a card",
		"ports: [{tier: switch, count: 1, afXDP: true}]":                                                                            "only ports that are an interface",
		"ports: [{tier: sriov, parent: eth0, count: 1, driver: vfio-pci, afXDP: true}]":                                             "only ports that are an interface",
		"ports: [{tier: memif, count: 1, cpus: [1]}]":                                                                               "only a switch has cpus",
		"ports: [{tier: macvlan, parent: eth0, count: 1, cpus: [1]}]":                                                               "only a switch has cpus",
		"ports: [{tier: macvlan, parent: eth0, count: 1}, {tier: macvlan, parent: eth0, count: 1}]":                                 "in one entry",
		"ports: [{tier: macvlan, parent: eth.0, count: 1}, {tier: macvlan, parent: eth-0, count: 1, mtu: 100000}]":                  "MTU of 100000",
	} {
		_, err := inventory(t, text, "n1")
		if err == nil || !strings.Contains(err.Error(), words) || exit.Code(err) != exit.Wrong {
			t.Errorf("%s: %v, which does not say %q", text, err, words)
		}
	}
}

func FuzzSources(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("{links: [{parent: br0, mbit: 4}], ports: [{tier: bridge, parent: br0, count: 1, mbit: 4}, {tier: switch, count: 2, shared: {pps: 5}}]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sources, err := ReadSources(text)
		if err != nil {
			return
		}
		all, err := InventoryOf(sources, "n1", "/run/s")
		if err != nil {
			return
		}
		for name, p := range all.Ports {
			if p.Name != name || p.Check() != nil {
				t.Errorf("%s: %+v passes", name, p)
			}
		}
		for name, s := range all.Shares {
			if s.Base.Name != name || s.named("00000000-0000").Check() != nil || s.Count < 1 {
				t.Errorf("%s: %+v passes", name, s)
			}
		}
	})
}
