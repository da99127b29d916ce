package plan

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

// TestAnInterfaceHasWhatTheFileLists: also nothing, or IPv6 alone; one that is not listed gets an address of nines'.
func TestAnInterfaceHasWhatTheFileLists(t *testing.T) {
	listed := map[string][]string{
		"none": {}, "six": {"fd00::1/64"}, "local": {"fe80::1/64"}, "both": {"fd01::1/64", "10.0.0.1/24"}, spec.Loopback: {"10.9.9.9/32", "fd09::9/128"},
	}
	exp := &spec.Experiment{Name: "listed", Topology: spec.Topology{Nodes: map[string]*spec.Node{"a": {Addresses: listed}, "b": {}}}}
	for _, name := range []string{"none", "six", "local", "both", "other"} {
		exp.Topology.Links = append(exp.Topology.Links, &spec.Link{Name: name, Endpoints: []string{"a:" + name, "b:" + name}})
	}
	p := planned(t, exp)
	for _, i := range p.Node("a").Interfaces {
		want := slices.Clone(listed[i.Name])
		slices.Sort(want)
		got := slices.Sorted(slices.Values(i.Addresses))
		if i.Name == "other" && len(got) == 1 && strings.HasPrefix(got[0], "198.") {
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("a:%s has %v, want %v", i.Name, got, want)
		}
	}
	if own := p.Node("a").Loopback; !slices.Equal(own, listed[spec.Loopback]) {
		t.Errorf("on its loopback a has %v", own)
	}
	for _, n := range p.NamesFor("b") {
		if n.Name == "a" && !slices.Contains(n.Addresses, netip.MustParseAddr("10.9.9.9")) {
			t.Errorf("a is %v", n.Addresses)
		}
	}
}

// TestTrafficNeedsAddressesOfItsVersion: it is not measured over others that nines assigns.
func TestTrafficNeedsAddressesOfItsVersion(t *testing.T) {
	of := func(addresses []string, ip int) error {
		exp := &spec.Experiment{Name: "version", Topology: spec.Topology{
			Nodes: map[string]*spec.Node{"a": {Addresses: map[string][]string{"x": addresses}}, "b": {}},
			Links: []*spec.Link{{Endpoints: []string{"a:x", "b:x"}}},
		}, Traffic: whole(spec.Traffic{From: "a:x", To: "b:x", RatePPS: 1000, IP: ip, FrameBytes: 128})}
		_, err := Make(exp, loadHost(t, "microvm"))
		return err
	}
	for _, c := range []struct {
		addresses []string
		ip        int
		want      string
	}{
		{[]string{"10.0.0.1/24"}, 4, ""}, {[]string{"fd00::1/64"}, 6, ""}, {[]string{"10.0.0.1/24", "fd00::1/64"}, 6, ""},
		{[]string{"fd00::1/64"}, 4, "its packets are of IPv4, and the file lists no such address for a:x"},
		{[]string{"10.0.0.1/24"}, 6, "its packets are of IPv6, and the file lists no such address for a:x"},
		{[]string{"fe80::1/64"}, 6, "its packets are of IPv6"}, {[]string{}, 4, "its packets are of IPv4"},
	} {
		err := of(c.addresses, c.ip)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("addresses %v, IPv%d: %v, want %q", c.addresses, c.ip, err, c.want)
		}
	}
}

// TestABridgeWithinANodeNeedsNoAddresses: frames pass it, and its neighbours have routes to each other.
func TestABridgeWithinANodeNeedsNoAddresses(t *testing.T) {
	exp := &spec.Experiment{Name: "through", Topology: spec.Topology{
		Nodes: map[string]*spec.Node{"a": {}, "b": {}, "dut": {
			App: &spec.App{Kind: spec.AppDevice, Leaves: spec.LeavesUnchanged}, Addresses: map[string][]string{"in": {}, "out": {}},
		}},
		Links: []*spec.Link{{Endpoints: []string{"a:x", "dut:in"}}, {Endpoints: []string{"dut:out", "b:x"}}},
	}, Traffic: whole(spec.Traffic{From: "a:x", To: "b:x", RatePPS: 1000})}
	p := planned(t, exp)
	if peer := p.Traffic.From; peer.PeerIP != p.Traffic.To.LocalIP || peer.PeerMAC != p.Traffic.To.LocalMAC {
		t.Errorf("traffic is from %+v to %+v", peer, p.Traffic.To)
	}
}

// TestAnAddressMayRepeat: on several links, and on the loopbacks of several nodes, where the file says so; each neighbour is
// the one of its link.
func TestAnAddressMayRepeat(t *testing.T) {
	same := map[string][]string{"x": {"10.0.0.1/24"}, spec.Loopback: {"10.9.9.9/32"}}
	exp := &spec.Experiment{Name: "repeats", Topology: spec.Topology{
		RepeatedAddresses: []string{"10.0.0.1/32", "10.9.9.0/24"},
		Nodes:             map[string]*spec.Node{"a": {Addresses: same}, "b": {Addresses: same}, "c": {}},
		Links:             []*spec.Link{{Endpoints: []string{"a:x", "c:a"}}, {Endpoints: []string{"b:x", "c:b"}}},
	}}
	p := planned(t, exp)
	for i, n := range []string{"a", "b"} {
		neighbour := p.Node("c").Interfaces[i].Neighbours[0]
		if has := p.Node(n).Interfaces[0]; neighbour.IP != "10.0.0.1" || neighbour.MAC != has.MAC || has.Addresses[0] != "10.0.0.1/24" || p.Node(n).Loopback[0] != "10.9.9.9/32" {
			t.Errorf("%s has %+v, and c the neighbour %+v", n, has, neighbour)
		}
	}
	exp.Topology.RepeatedAddresses = []string{"10.9.9.9/32"}
	if _, err := Make(exp, loadHost(t, "microvm")); err == nil || !strings.Contains(err.Error(), "10.0.0.1 is the address of a:x already") {
		t.Errorf("unsaid: %v", err)
	}
}
