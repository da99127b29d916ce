package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// managed is the lab of two() with a management network.
func managed(change func(*spec.Management)) *spec.Experiment {
	e := two()
	e.Management = &spec.Management{DNS: true}
	if change != nil {
		change(e.Management)
	}
	return e
}

func planManaged(t *testing.T, e *spec.Experiment, routes ...host.Network) *Plan {
	t.Helper()
	inv := loadHost(t, "microvm")
	inv.Networks = routes
	p, err := Make(e, inv)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func route(device, subnet string) host.Network {
	return host.Network{Device: device, Subnet: netip.MustParsePrefix(subnet)}
}

// TestPosMAC: the thesis's own words (5.2.1): at the host 172.16.142.1 the third octet, 142, is 8e, and
// containers get 52:54:00:8e:00:0x, with x from 2, and the addresses 172.16.142.2, 172.16.142.3 and so on.
func TestPosMAC(t *testing.T) {
	for _, c := range []struct {
		host   string
		number int
		want   string
	}{
		{"172.16.142.1", 2, "52:54:00:8e:00:02"},
		{"172.16.142.1", 3, "52:54:00:8e:00:03"},
		{"172.16.142.1", 16, "52:54:00:8e:00:10"},
		{"172.16.142.1", 254, "52:54:00:8e:00:fe"},
		{"10.0.0.1", 2, "52:54:00:00:00:02"},
		{"192.168.255.7", 9, "52:54:00:ff:00:09"},
	} {
		if got, err := PosMAC(netip.MustParseAddr(c.host), c.number); got != c.want || err != nil {
			t.Errorf("host %s, number %d: %s, %v; want %s", c.host, c.number, got, err, c.want)
		}
	}
	for _, c := range []struct {
		host   string
		number int
	}{{"172.16.142.1", 0}, {"172.16.142.1", 1}, {"172.16.142.1", 255}, {"172.16.142.1", 258}, {"fd00::1", 2}} {
		if got, err := PosMAC(netip.MustParseAddr(c.host), c.number); err == nil {
			t.Errorf("host %s, number %d: %s, and no error", c.host, c.number, got)
		}
	}
}

func TestNodesAtPosHaveItsAddresses(t *testing.T) {
	p := planManaged(t, managed(func(m *spec.Management) { m.Subnet, m.MAC = "172.16.142.0/24", spec.ManagementMACPos }))
	if p.Management.Address != "172.16.142.1" || p.Management.HostAddress() != "172.16.142.1/24" || p.Management.Server != "172.16.142.254" {
		t.Errorf("the host's end is %+v", p.Management)
	}
	for i, want := range []string{"52:54:00:8e:00:02 172.16.142.2/24", "52:54:00:8e:00:03 172.16.142.3/24"} {
		n := p.Nodes[i]
		last := n.Interfaces[len(n.Interfaces)-1]
		if got := last.MAC + " " + strings.Join(last.Addresses, " "); got != want || last.Name != "mgmt" {
			t.Errorf("%s: %s has %s, want %s", n.Name, last.Name, got, want)
		}
	}
}

// TestTheManagementNetworkLeavesTheMeasuredOnesAlone: but for what it adds, the plan is the same.
func TestTheManagementNetworkLeavesTheMeasuredOnesAlone(t *testing.T) {
	with, without := planManaged(t, managed(nil)), planManaged(t, two())
	if last := with.Links[len(with.Links)-1]; !last.Management || last.Name != "management" || len(last.Endpoints) != 2 || len(with.Links) != len(without.Links)+1 {
		t.Fatalf("the links are %+v", with.Links)
	}
	with.Links, with.Management = with.Links[:len(with.Links)-1], nil
	for i := range with.Nodes {
		faces := with.Nodes[i].Interfaces
		with.Nodes[i].Interfaces = faces[:len(faces)-1]
	}
	var a, b strings.Builder
	if err := errors.Join(with.Write(&a), without.Write(&b)); err != nil || a.String() != b.String() {
		t.Errorf("%v\nwith:\n%s\nwithout:\n%s", err, a.String(), b.String())
	}
	if !reflect.DeepEqual(with.Traffic, without.Traffic) {
		t.Errorf("the traffic is %+v, and %+v without", with.Traffic, without.Traffic)
	}
}

// TestTwoLabsHaveTwoSubnets: the second sees the first's route, and the first keeps its own subnet.
func TestTwoLabsHaveTwoSubnets(t *testing.T) {
	first := planManaged(t, managed(nil))
	own := route(first.Management.Device, first.Management.Subnet)
	if again := planManaged(t, managed(nil), own); again.Management.Subnet != first.Management.Subnet {
		t.Errorf("while it is up its subnet is %s, and was %s", again.Management.Subnet, first.Management.Subnet)
	}
	foreign := route("another-mgmt", first.Management.Subnet)
	second := planManaged(t, managed(nil), foreign)
	if second.Management.Subnet == first.Management.Subnet {
		t.Errorf("both have %s", second.Management.Subnet)
	}
	// A neighbour's route that was there when the lab came up, and is gone now, does not move it.
	moved := route(second.Management.Device, second.Management.Subnet)
	if again := planManaged(t, managed(nil), moved); again.Management.Subnet != second.Management.Subnet {
		t.Errorf("its subnet was %s, and is %s now", second.Management.Subnet, again.Management.Subnet)
	}
	if !host.ManagementRange.Overlaps(netip.MustParsePrefix(second.Management.Subnet)) {
		t.Errorf("%s is not in %s", second.Management.Subnet, host.ManagementRange)
	}
	// Half of the range is a route of docker's, say.
	for _, half := range []string{"172.16.0.0/13", "172.24.0.0/13"} {
		p := planManaged(t, managed(nil), route("docker0", half))
		if netip.MustParsePrefix(half).Overlaps(netip.MustParsePrefix(p.Management.Subnet)) {
			t.Errorf("%s is behind docker0", p.Management.Subnet)
		}
	}
}

func TestManagementIsRefused(t *testing.T) {
	inv := loadHost(t, "microvm")
	inv.Networks = []host.Network{route("eth0", "172.16.142.0/24")}
	all := loadHost(t, "microvm")
	all.Networks = []host.Network{route("tun0", "172.16.0.0/12")}
	for what, c := range map[string]struct {
		experiment *spec.Experiment
		inv        *host.Inventory
		code       int
		want       string
	}{
		"a subnet that the host has":       {managed(func(m *spec.Management) { m.Subnet = "172.16.142.128/25" }), inv, exit.Wrong, "this host has a route to 172.16.142.0/24 by eth0"},
		"a subnet that is too small":       {managed(func(m *spec.Management) { m.Subnet = "10.9.9.0/30" }), inv, exit.Wrong, "has 4 addresses, and 2 nodes, the host and a DNS server need 6"},
		"a subnet of the measured network": {managed(func(m *spec.Management) { m.Subnet = "198.18.0.0/15" }), inv, exit.Wrong, "a network of the lab's links"},
		"no subnet that is free":           {managed(nil), all, exit.Lacks, "this host has routes to all of them"},
	} {
		_, err := Make(c.experiment, c.inv)
		if err == nil || !strings.Contains(err.Error(), c.want) || exit.Code(err) != c.code {
			t.Errorf("%s: %v (exit code %d), want %q, %d", what, err, exit.Code(err), c.want, c.code)
		}
	}
}

// TestMoreNodesThanPosHasNumbers: a larger subnet is chosen, and pos's scheme is refused.
func TestMoreNodesThanPosHasNumbers(t *testing.T) {
	many := func(by spec.ManagementMAC) *spec.Experiment {
		e := &spec.Experiment{Name: "many", Topology: spec.Topology{Nodes: map[string]*spec.Node{}}, Management: &spec.Management{MAC: by}}
		for i := range 300 {
			e.Topology.Nodes[fmt.Sprintf("n%03d", i)] = &spec.Node{}
		}
		return e
	}
	p := planManaged(t, many(spec.ManagementMACPlan))
	subnet, seen := netip.MustParsePrefix(p.Management.Subnet), map[string]bool{p.Management.Address: true}
	for _, n := range p.Nodes {
		address := p.ManagementAddress(n)
		if seen[address] || !subnet.Contains(netip.MustParseAddr(address)) {
			t.Fatalf("%s has %s, of %s", n.Name, address, subnet)
		}
		seen[address] = true
	}
	if _, err := Make(many(spec.ManagementMACPos), loadHost(t, "microvm")); err == nil || !strings.Contains(err.Error(), "write mac: plan") {
		t.Errorf("300 nodes by pos: %v", err)
	}
}
