package link

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
)

// TestProbesAreThoseOfTheStandard: RFC 5227 (2.1.1): the sender's address is none, and the one asked for is
// the target's.
func TestProbesAreThoseOfTheStandard(t *testing.T) {
	from := net.HardwareAddr{2, 0, 0, 0, 0, 7}
	probe := arpProbe(from, netip.MustParseAddr("10.77.0.2"))
	want := []byte{0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 2}
	if !bytes.Equal(probe, want) {
		t.Errorf("the probe is % x, want % x", probe, want)
	}
	if mac, address, is := arpSender(probe); !is || mac.String() != from.String() || !address.IsUnspecified() {
		t.Errorf("it is from %s, %s, %v", mac, address, is)
	}
	answer := append([]byte{}, want...)
	copy(answer[14:], []byte{10, 77, 0, 2})
	if _, address, is := arpSender(append(answer, make([]byte, 18)...)); !is || address.String() != "10.77.0.2" {
		t.Errorf("an answer, filled up to the least frame, is from %s, %v", address, is)
	}
}

func FuzzARPSender(f *testing.F) {
	f.Add(arpProbe(net.HardwareAddr{2, 0, 0, 0, 0, 7}, netip.MustParseAddr("10.77.0.2")))
	f.Add([]byte{0, 1, 8, 0, 6, 4})
	f.Fuzz(func(t *testing.T, packet []byte) {
		mac, address, is := arpSender(packet)
		if is && (len(packet) < arpBytes || len(mac) != 6 || !address.Is4()) {
			t.Errorf("% x is from %s, %s", packet, mac, address)
		}
	})
}

func TestChangesOfAnUplink(t *testing.T) {
	m := &plan.Management{Subnet: "10.77.0.0/24", Address: "10.77.0.1", Uplink: &plan.Uplink{Name: "eth0", MAC: "02:00:00:00:00:01"}}
	as := func(change func(*host.Uplink)) string {
		u := &host.Uplink{Name: "eth0", MAC: "02:00:00:00:00:01", Addresses: []netip.Prefix{netip.MustParsePrefix("10.9.0.1/16"), netip.MustParsePrefix("10.77.0.1/24")}}
		change(u)
		return strings.Join(uplinkChanges(m, u), ", ")
	}
	for want, change := range map[string]func(*host.Uplink){
		"": func(*host.Uplink) {},
		"has the MAC address 02:00:00:00:00:02, and had 02:00:00:00:00:01 when the lab was planned": func(u *host.Uplink) { u.MAC = "02:00:00:00:00:02" },
		"was replaced by a device of another kind":                                                  func(u *host.Uplink) { u.Kind = "bridge" },
		"no longer has the address 10.77.0.1/24":                                                    func(u *host.Uplink) { u.Addresses = u.Addresses[:1] },
	} {
		if got := as(change); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
