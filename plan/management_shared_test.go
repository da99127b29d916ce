package plan

import (
	"net/netip"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// uplink is an interface that a management network can be on.
func uplink(change func(*host.Uplink)) host.Uplink {
	u := host.Uplink{
		Name: "eth0", MAC: "3c:ec:ef:00:00:01", MTU: 1500, Ethernet: true, Up: true, Carrier: true,
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.142.1/16")},
	}
	if change != nil {
		change(&u)
	}
	return u
}

func planShared(t *testing.T, u host.Uplink, change func(*spec.Management)) (*Plan, error) {
	t.Helper()
	inv := loadHost(t, "microvm")
	inv.Uplinks = []host.Uplink{u}
	return Make(managed(func(m *spec.Management) {
		m.Mode, m.Uplink, m.DNS = spec.ManagementShared, "eth0", false
		change(m)
	}), inv)
}

func faces(p *Plan) string {
	var list []string
	for _, n := range p.Nodes {
		last := n.Interfaces[len(n.Interfaces)-1]
		list = append(list, last.MAC+" "+strings.Join(last.Addresses, " "))
	}
	return strings.Join(list, ", ")
}

// TestASharedNetworkByPos: the thesis's example (5.2.1) on the testbed's own network, in which the third
// octet is the host's.
func TestASharedNetworkByPos(t *testing.T) {
	p, err := planShared(t, uplink(func(u *host.Uplink) { u.MTU = 9000 }), func(m *spec.Management) { m.MAC = spec.ManagementMACPos })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := faces(p), "52:54:00:8e:00:02 172.16.142.2/16, 52:54:00:8e:00:03 172.16.142.3/16"; got != want {
		t.Errorf("the nodes have %s, want %s", got, want)
	}
	m := p.Management
	if m.Mode != spec.ManagementShared || *m.Uplink != (Uplink{Name: "eth0", MAC: "3c:ec:ef:00:00:01"}) || m.HostAddress() != "172.16.142.1/16" || m.Subnet != "172.16.0.0/16" || m.Server != "" || !strings.HasPrefix(m.MAC, "fe:ff:ff:") {
		t.Errorf("the host's end is %+v", m)
	}
	if last := p.Links[len(p.Links)-1]; last.MTU != 9000 || p.Nodes[0].Interfaces[len(p.Nodes[0].Interfaces)-1].MTU != 9000 {
		t.Errorf("the MTU is not the uplink's: %+v", last)
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil || !strings.Contains(text.String(), "this host is 172.16.142.1 by its interface eth0, which the nodes share\n") {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestASharedNetworkByAddresses: by pos the number is the end of the address; the network is the one that has
// them, and a bridge is known as one.
func TestASharedNetworkByAddresses(t *testing.T) {
	two := func(u *host.Uplink) {
		u.Kind, u.Addresses = "bridge", []netip.Prefix{netip.MustParsePrefix("10.1.0.9/24"), netip.MustParsePrefix("10.2.7.9/22"), netip.MustParsePrefix("10.1.0.10/24")}
	}
	p, err := planShared(t, uplink(two), func(m *spec.Management) { m.MAC, m.Addresses = spec.ManagementMACPos, "10.2.7.200-10.2.7.210" })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := faces(p), "52:54:00:07:00:c8 10.2.7.200/22, 52:54:00:07:00:c9 10.2.7.201/22"; got != want {
		t.Errorf("the nodes have %s, want %s", got, want)
	}
	if m := p.Management; !m.Uplink.Bridge || m.Address != "10.2.7.9" || m.Subnet != "10.2.4.0/22" {
		t.Errorf("the host's end is %+v", m)
	}
	p, err = planShared(t, uplink(nil), func(m *spec.Management) { m.Addresses = "172.16.9.255-172.16.10.0" })
	if err != nil || !strings.Contains(faces(p), " 172.16.9.255/16, ") || !strings.Contains(faces(p), " 172.16.10.0/16") {
		t.Errorf("%v: %s", err, faces(p))
	}
}

func TestASharedNetworkIsRefused(t *testing.T) {
	pos := func(m *spec.Management) { m.MAC = spec.ManagementMACPos }
	from := func(text string) func(*spec.Management) { return func(m *spec.Management) { m.Addresses = text } }
	at := func(addresses ...string) func(*host.Uplink) {
		return func(u *host.Uplink) {
			u.Addresses = nil
			for _, text := range addresses {
				u.Addresses = append(u.Addresses, netip.MustParsePrefix(text))
			}
		}
	}
	for what, c := range map[string]struct {
		uplink func(*host.Uplink)
		change func(*spec.Management)
		code   int
		want   string
	}{
		"another name":                 {func(u *host.Uplink) { u.Name = "eth1" }, pos, exit.Lacks, "requests the interface eth0; the host has no such interface"},
		"not an Ethernet interface":    {func(u *host.Uplink) { u.Ethernet = false }, pos, exit.Lacks, "it is not an Ethernet interface; name another"},
		"wireless":                     {func(u *host.Uplink) { u.Wireless = true }, pos, exit.Lacks, "an access point accepts frames from one address"},
		"a macvlan":                    {func(u *host.Uplink) { u.Kind = "macvlan" }, pos, exit.Lacks, "it is a macvlan"},
		"a port of Open vSwitch":       {func(u *host.Uplink) { u.Kind = "openvswitch" }, pos, exit.Lacks, "it belongs to Open vSwitch"},
		"a part of a bridge":           {func(u *host.Uplink) { u.Master, u.MasterKind = "br0", "bridge" }, pos, exit.Lacks, "it is a port of the bridge br0, which receives its frames; write uplink: br0"},
		"a part of a bond":             {func(u *host.Uplink) { u.Master, u.MasterKind = "bond0", "bond" }, pos, exit.Lacks, "write uplink: bond0"},
		"down":                         {func(u *host.Uplink) { u.Up = false }, pos, exit.Lacks, "it is down; ip link set eth0 up"},
		"without a carrier":            {func(u *host.Uplink) { u.Carrier = false }, pos, exit.Lacks, "it has no carrier"},
		"with LRO":                     {func(u *host.Uplink) { u.LRO = true }, pos, exit.Lacks, "ethtool -K eth0 lro off"},
		"without an address":           {at(), pos, exit.Lacks, "it has no IPv4 address"},
		"a network of one":             {at("10.0.0.1/32"), pos, exit.Wrong, "none of their networks has room for nodes"},
		"pos at another host":          {at("10.0.0.17/24"), pos, exit.Wrong, "pos gives a host the address that ends in 1, and its machines the next ones; this host has 10.0.0.17"},
		"another network":              {nil, from("10.0.0.2-10.0.0.9"), exit.Wrong, "eth0 has the addresses 172.16.142.1/16, and 10.0.0.2 is not of any of their networks; write addresses"},
		"too few":                      {nil, from("172.16.142.9-172.16.142.9"), exit.Wrong, "172.16.142.9 to 172.16.142.9 are 1 addresses, and 2 nodes need one each"},
		"the host's own":               {nil, from("172.16.142.0-172.16.142.9"), exit.Wrong, "the nodes would have 172.16.142.0 to 172.16.142.1, and 172.16.142.1 is the host's own, or not a host address"},
		"another of the host's":        {at("10.0.0.1/24", "10.0.0.8/24"), from("10.0.0.7-10.0.0.9"), exit.Wrong, "10.0.0.8 is the host's own"},
		"the network's":                {at("10.0.0.1/24"), from("10.0.0.0-10.0.0.9"), exit.Wrong, "10.0.0.0 is the host's own, or not a host address"},
		"the broadcast":                {at("10.0.0.1/24"), from("10.0.0.254-10.0.1.9"), exit.Wrong, "10.0.0.255 is the host's own, or not a host address"},
		"the end of pos":               {nil, func(m *spec.Management) { pos(m); m.Addresses = "172.16.142.254-172.16.143.9" }, exit.Wrong, "255 is outside; write mac: plan"},
		"the uplink's own MAC address": {func(u *host.Uplink) { u.MAC = "52:54:00:8E:00:03" }, pos, exit.Wrong, "node gen would have the MAC address of eth0, 52:54:00:8e:00:03"},
		"a measured network":           {at("198.18.0.1/15"), from("198.18.0.2-198.18.0.3"), exit.Wrong, "overlaps"},
	} {
		_, err := planShared(t, uplink(c.uplink), c.change)
		if err == nil || !strings.Contains(err.Error(), c.want) || exit.Code(err) != c.code {
			t.Errorf("%s: %v (exit code %d), want %q, %d", what, err, exit.Code(err), c.want, c.code)
		}
	}
}
