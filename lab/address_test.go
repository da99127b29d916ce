package lab

import (
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// IPv6 at only one end of a link works, and next hops are found through the on-link routes before
// them, in both IP versions. The nodes talk over IPv4, which both have.
func TestMixedFamiliesAndOnLinkHops(t *testing.T) {
	labtest.Root(t)
	lab := up(t, `name: tbaddress
topology:
  nodes:
    a: {routes: [{to: 10.9.0.1/32, interface: x}, {to: 10.77.0.0/16, via: 10.9.0.1}]}
    b: {addresses: {x: [10.5.0.1/24, "fd00::1/64"]}, routes: [{to: "fd09::/64", interface: x}, {to: "fd08::/64", via: "fd09::1"}]}
  links: [{kind: veth, endpoints: ["a:x", "b:x"]}]
`)
	in(t, lab, "a", "ping", "-c1", "-W2", "10.5.0.1")
	for node, c := range map[string]struct{ target, via string }{
		"a": {"10.77.1.1", "via 10.9.0.1 dev x"},
		"b": {"fd08::7", "via fd09::1 dev x"},
	} {
		if got := in(t, lab, node, "ip", "route", "get", c.target); !strings.Contains(got, c.via) {
			t.Errorf("%s reaches %s by %q; want %q", node, c.target, got, c.via)
		}
	}
}

// TestMACsOfTheFile: on the interface, among the neighbours of the others, and for check.
func TestMACsOfTheFile(t *testing.T) {
	labtest.Root(t)
	for _, kind := range []string{"veth", "bridge", "macvlan", "xdp"} {
		t.Run(kind, func(t *testing.T) {
			labtest.Root(t)
			lab := up(t, `name: tbmac
topology:
  nodes:
    a: {mac: {x: 52:54:00:8E:00:02}}
    b:
  links: [{kind: `+kind+`, endpoints: ["a:x", "b:x"]}]
`)
			if got := in(t, lab, "a", "cat", "/sys/class/net/x/address"); got != "52:54:00:8e:00:02" {
				t.Errorf("a has %s", got)
			}
			if got := in(t, lab, "b", "ip", "neigh", "show", "dev", "x"); !strings.Contains(got, "52:54:00:8e:00:02 PERMANENT") {
				t.Errorf("b has the neighbours %s", got)
			}
			in(t, lab, "b", "ping", "-c1", "-W2", strings.Split(lab.Plan().Nodes[0].Interfaces[0].Addresses[0], "/")[0])
			checked, err := lab.Check()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range checked {
				if c.Problem != "" {
					t.Errorf("check finds %+v", c)
				}
			}
		})
	}
}
