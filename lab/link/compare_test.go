package link

import (
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestCompareVF(t *testing.T) {
	const mac = "02:00:00:00:00:01"
	f := plan.Function{VLAN: 401, Trust: true, RateMbit: 500}
	good := pci.VFSettings{MAC: mac, VLAN: 401, Trust: true, MaxRateMbit: 500}
	with := func(change func(*pci.VFSettings)) pci.VFSettings {
		s := good
		change(&s)
		return s
	}
	for _, c := range []struct {
		now  pci.VFSettings
		want []string
	}{
		{good, nil},
		{with(func(s *pci.VFSettings) { s.MAC = "02:00:00:00:00:02" }), []string{"has the MAC address 02:00:00:00:00:02, and " + mac + " is planned"}},
		{with(func(s *pci.VFSettings) { s.VLAN, s.SpoofCheck = 0, true }), []string{"has VLAN 0, and 401 is planned", "has spoof checking on, and off is planned"}},
		{with(func(s *pci.VFSettings) { s.MaxRateMbit, s.LinkState = 0, linkDisable }),
			[]string{"sends at most 0 Mbit/s (0: no limit), and 500 is planned", "is disabled by its port"}},
	} {
		if diff := cmp.Diff(c.want, compareVF(c.now, f, mac)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.now, diff)
		}
	}
}

func TestCompareSwitchPorts(t *testing.T) {
	l := plan.Link{
		Name: "l", Kind: spec.LinkSwitch, Endpoints: []plan.Endpoint{{Node: "a", Interface: "x"}, {Node: "b", Interface: "x"}},
		Switch: &plan.Switch{Settings: spec.Switch{Ports: map[string]*spec.SwitchPort{"a:x": {VLAN: 7}}}},
	}
	up := func(change func(*client.SwitchPortStats)) []client.SwitchPortStats {
		list := []client.SwitchPortStats{{Port: "b:x", State: "waiting"}, {Port: "a:x", State: "up", VLAN: 7}}
		change(&list[1])
		return list
	}
	for _, c := range []struct {
		ports []client.SwitchPortStats
		cut   bool
		want  []string
	}{
		{up(func(*client.SwitchPortStats) {}), false, nil},
		{up(func(p *client.SwitchPortStats) { p.Cut = true }), true, nil},
		{up(func(p *client.SwitchPortStats) { p.Cut = true }), false, []string{"the switch's port a:x is cut, and passes nothing"}},
		{up(func(p *client.SwitchPortStats) { p.VLAN, p.State = 8, "failed: the device is gone" }), false,
			[]string{"the switch's port a:x has failed: the device is gone", "the switch's port a:x has VLAN 8, and 7 is planned"}},
		{up(func(p *client.SwitchPortStats) { p.Impair = &client.ImpairStats{} }), false, []string{"the switch's port a:x is impaired: true, and planned is false"}},
		{nil, false, []string{"the switch's port a:x is gone", "the switch's port b:x is gone"}},
	} {
		if diff := cmp.Diff(c.want, compareSwitchPorts(l, c.ports, c.cut)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.ports, diff)
		}
	}
}

func TestCompareOVSPorts(t *testing.T) {
	l := plan.Link{Endpoints: []plan.Endpoint{{Node: "a", Interface: "x", FabricDevice: "f1"}, {Node: "b", Interface: "x", Attach: plan.AttachVhost}}}
	absent := []any{"set", []any{}}
	good := []ovsInterface{{"br0", 65534.0, absent}, {"f1", 1.0, absent}, {"vhost2", 2.0, absent}}
	if got := compareOVSPorts(l, good); len(got) > 0 {
		t.Errorf("good ports: %q", got)
	}
	bad := []ovsInterface{{"f1", -1.0, "could not open network device f1 (No such device)"}}
	want := []string{"the bridge's port f1 of a:x does not work: could not open network device f1 (No such device)", "the bridge's port vhost2 of b:x is gone"}
	if diff := cmp.Diff(want, compareOVSPorts(l, bad)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNeighboursAreCompared: in a node that sets up its interfaces itself, a routing daemon may replace permanent
// neighbours by its own, but no one else's MAC address stays unnoticed.
func TestNeighboursAreCompared(t *testing.T) {
	iface := &plan.Interface{Neighbours: []plan.Neighbour{{IP: "10.0.0.2", MAC: "02:00:00:00:00:0A"}}}
	has := func(mac string) []netlink.Neigh {
		address, err := net.ParseMAC(mac)
		if err != nil {
			t.Fatal(err)
		}
		return []netlink.Neigh{{IP: net.ParseIP("10.0.0.2"), HardwareAddr: address}}
	}
	for name, one := range map[string]struct {
		neighbours []netlink.Neigh
		free       bool
		want       string
	}{
		"as planned":             {has("02:00:00:00:00:0a"), false, ""},
		"lost":                   {nil, false, "has lost its neighbour 10.0.0.2 (02:00:00:00:00:0A)"},
		"another":                {has("02:00:00:00:00:03"), false, "has the MAC address 02:00:00:00:00:03 for its neighbour 10.0.0.2, which has 02:00:00:00:00:0A"},
		"a daemon's":             {nil, true, ""},
		"another, of a script's": {has("02:00:00:00:00:03"), true, ""}, // what it leads to shows in the packets' path
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, d := range (&Seen{link: &netlink.Dummy{}, neighbours: one.neighbours}).Differences(End{Interface: iface, Free: one.free}) {
				got += d.Problem
			}
			if got != one.want {
				t.Errorf("it says %q, want %q", got, one.want)
			}
		})
	}
}

func TestRoutesAreComparedByWhereTheyLead(t *testing.T) {
	for _, c := range []struct {
		r    spec.Route
		want string
	}{
		{spec.Route{To: "default", Via: "10.0.0.1"}, "0.0.0.0/0"},
		{spec.Route{To: "default", Via: "fd00::1"}, "::/0"},
		{spec.Route{To: "10.1.2.3/24"}, "10.1.2.0/24"},
	} {
		if got := destination(c.r).String(); got != c.want {
			t.Errorf("%+v leads to %s, want %s", c.r, got, c.want)
		}
	}
	i := plan.Interface{Name: "x", Addresses: []string{"10.0.0.1/24", "10.9.0.1/32", "fd00::1/64"}}
	want := []string{"fd00::/64"}
	if diff := cmp.Diff(want, new(View).LostNetworks(i, []spec.Route{{To: "10.0.0.0/24", Interface: "y"}})); diff != "" {
		t.Errorf("an empty namespace (-want +got):\n%s", diff)
	}
}
