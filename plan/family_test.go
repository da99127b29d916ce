package plan

import (
	"net/netip"
	"testing"

	"nines.dev/nines/spec"
)

// planned makes a plan on the microVM.
func planned(t *testing.T, exp *spec.Experiment) *Plan {
	t.Helper()
	p, err := Make(exp, loadHost(t, "microvm"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMixedFamilies: on a link where interfaces have the addresses that the file lists for them, and no others, each
// knows the others by all IP versions that both have.
func TestMixedFamilies(t *testing.T) {
	exp := &spec.Experiment{Name: "mixed", Topology: spec.Topology{
		Nodes: map[string]*spec.Node{
			"four": {},
			"both": {Addresses: map[string][]string{"x": {"10.0.0.2/24", "fd00::2/64"}}},
			"six":  {Addresses: map[string][]string{"x": {"fd00::3/64"}}},
			"none": {Addresses: map[string][]string{"x": {}}},
		},
		Links: []*spec.Link{{Kind: spec.LinkBridge, Endpoints: []string{"four:x", "both:x", "six:x", "none:x"}}},
	}}
	got := map[string]map[int]int{} // node, IP version: neighbours
	for _, n := range planned(t, exp).Nodes {
		got[n.Name] = map[int]int{}
		for _, entry := range n.Interfaces[0].Neighbours {
			got[n.Name][netip.MustParseAddr(entry.IP).BitLen()]++
		}
	}
	for name, want := range map[string][2]int{"four": {1, 0}, "both": {1, 1}, "six": {0, 1}, "none": {0, 0}} {
		if got[name][32] != want[0] || got[name][128] != want[1] {
			t.Errorf("%s has %d IPv4 and %d IPv6 neighbours; want %v", name, got[name][32], got[name][128], want)
		}
	}
}

// TestReachableHops: routes that the kernel accepts are planned.
func TestReachableHops(t *testing.T) {
	for name, routes := range map[string][]spec.Route{
		"in a subnet":               {{To: "default", Via: "10.0.0.1"}},
		"in a subnet, by interface": {{To: "default", Via: "10.0.0.1", Interface: "tx"}},
		"on the link":               {{To: "10.9.0.0/24", Interface: "tx"}},
		"through an on-link route":  {{To: "10.9.0.1/32", Interface: "tx"}, {To: "default", Via: "10.9.0.1"}},
		"IPv6":                      {{To: "default", Via: "fd00::1"}},
		"IPv6 link-local":           {{To: "default", Via: "fe80::1", Interface: "tx"}},
		"IPv6 on the link":          {{To: "fd01::/64", Interface: "tx"}, {To: "default", Via: "fd01::1"}},
	} {
		t.Run(name, func(t *testing.T) {
			exp := two()
			exp.Topology.Nodes["dut"].Addresses = map[string][]string{"in": {"10.0.0.1/24", "fd00::1/64"}}
			exp.Topology.Nodes["gen"].Addresses = map[string][]string{"tx": {"10.0.0.2/24", "fd00::2/64"}}
			exp.Topology.Nodes["gen"].Routes = routes
			planned(t, exp)
		})
	}
}
