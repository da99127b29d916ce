package spec

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestVendorsNamesBecomeTheKernels: wherever a key names an interface, and the file's names are kept beside.
func TestVendorsNamesBecomeTheKernels(t *testing.T) {
	const text = `
name: lab
topology:
  nodes:
    R1: {addresses: {Ethernet1/1: [10.0.0.1/24]}, mac: {Ethernet1/1: "02:00:00:00:00:01"}, routes: [{to: 10.1.0.0/24, interface: Ethernet1/1}]}
    R2: {addresses: {ge-0-0/0: [10.0.0.2/24]}}
  links:
    - name: wire
      kind: switch
      endpoints: ["R1:Ethernet1/1", "R2:ge-0/0/0", "R2:eth/1"]
      rx: {"R2:eth/1": threaded}
      impair_from: {"R1:Ethernet1/1": {delay: 1ms}}
      switch: {ports: {"R2:ge-0/0/0": {vlan: 5}}}
dpdk: {device: {"R1:Ethernet1/1": "net_null0"}, hugepages: none}
traffic: {from: "R1:Ethernet1/1", to: "R2:ge-0/0/0", rate_pps: 1000, backend: dpdk}
`
	plain := strings.NewReplacer("Ethernet1/1", "Ethernet1-1", "ge-0/0/0", "ge-0-0-0", "ge-0-0/0", "ge-0-0-0", "eth/1", "eth-1").Replace(text)
	load := func(text string) *Experiment {
		e, err := mustLoad(t, text).Experiment()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	vendors, kernels := load(text), load(plain)
	want := map[string]map[string]string{"R1": {"Ethernet1-1": "Ethernet1/1"}, "R2": {"ge-0-0-0": "ge-0/0/0", "eth-1": "eth/1"}}
	for name, n := range vendors.Topology.Nodes {
		if !maps.Equal(n.InterfaceAliases, want[name]) {
			t.Errorf("%s has the aliases %v, want %v", name, n.InterfaceAliases, want[name])
		}
		n.InterfaceAliases = nil
	}
	if one, other := indented(t, vendors), indented(t, kernels); one != other {
		t.Errorf("with the vendors' names:\n%s\nwith the kernel's:\n%s", one, other)
	}
}

// TestSidesHaveVendorsNames: an interface that a duet has twice has the file's name with its side.
func TestSidesHaveVendorsNames(t *testing.T) {
	e, err := mustLoad(t, `name: lab
topology:
  nodes: {gen: {}, dut: {app: {kind: route}}}
  links:
    - {name: in, endpoints: ["gen:Eth1/1", "dut:Eth1/1"]}
    - {name: out, endpoints: ["dut:Eth1/2", "gen:Eth1/2"]}
traffic: {from: "gen:Eth1/1", to: "gen:Eth1/2", rate_pps: 1000}
duet: {a: {links.in.kind: veth}, b: {links.in.kind: bridge}}
`).Experiment()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Eth1-1@a": "Eth1/1@a", "Eth1-1@b": "Eth1/1@b", "Eth1-2@a": "Eth1/2@a", "Eth1-2@b": "Eth1/2@b"}
	if got := e.Topology.Nodes["gen"].InterfaceAliases; !maps.Equal(got, want) {
		t.Errorf("gen has %v, want %v", got, want)
	}
	if got := slices.Sorted(maps.Values(e.Topology.Nodes["dut@b"].InterfaceAliases)); !slices.Equal(got, []string{"Eth1/1", "Eth1/2"}) {
		t.Errorf("dut@b has %v", got)
	}
}

// TestATreeWithoutSuchNamesIsShared: a file of many runs is not copied for each.
func TestATreeWithoutSuchNamesIsShared(t *testing.T) {
	f := mustLoad(t, duetLab)
	if kernelNames(f.root, &collector{}) != f.root {
		t.Error("the tree is another, though nothing is renamed")
	}
	if before := f.root.plain(); !reflect.DeepEqual(kernelNames(f.root, &collector{}).plain(), before) {
		t.Error("the tree has changed")
	}
}

func indented(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
