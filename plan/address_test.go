package plan

import (
	"net/netip"
	"testing"

	"nines.dev/nines/spec"
)

// TestBroadcastAddresses: also of subnets whose number is odd.
func TestBroadcastAddresses(t *testing.T) {
	for subnet, want := range map[string]string{
		"10.0.0.0/24": "10.0.0.255", "10.0.1.0/24": "10.0.1.255", "198.18.0.4/30": "198.18.0.7", "198.18.0.8/30": "198.18.0.11",
		"172.16.4.0/22": "172.16.7.255", "10.0.0.8/29": "10.0.0.15", "0.0.0.0/0": "255.255.255.255",
	} {
		if got := lastAddress(netip.MustParsePrefix(subnet)); got != netip.MustParseAddr(want) {
			t.Errorf("%s ends with %s, want %s", subnet, got, want)
		}
	}
}

// TestMACsOfTheFile reach the neighbours and the engines; the other interfaces keep the plan's.
func TestMACsOfTheFile(t *testing.T) {
	const want = "52:54:00:00:00:0a"
	exp := &spec.Experiment{Name: "macs", Topology: spec.Topology{
		Nodes: map[string]*spec.Node{"a": {}, "b": {MAC: map[string]string{"x": "52:54:00:00:00:0A"}}},
		Links: []*spec.Link{{Endpoints: []string{"a:x", "b:x"}}},
	}, Traffic: &spec.Traffic{From: "a:x", To: "b:x", RatePPS: 1000}}
	p := planned(t, exp)
	a, b := p.Nodes[0].Interfaces[0], p.Nodes[1].Interfaces[0]
	if b.MAC != want || a.Neighbours[0].MAC != want || p.Traffic.From.PeerMAC != want || p.Traffic.To.LocalMAC != want {
		t.Errorf("%s; the neighbour of a is %s; traffic from %+v to %+v", b.MAC, a.Neighbours[0].MAC, p.Traffic.From, p.Traffic.To)
	}
	exp.Topology.Nodes["b"].MAC = nil
	if without := planned(t, exp); without.Nodes[0].Interfaces[0].MAC != a.MAC || without.Nodes[1].Interfaces[0].MAC == want {
		t.Errorf("without it a has %s, with it %s", without.Nodes[0].Interfaces[0].MAC, a.MAC)
	}
}
