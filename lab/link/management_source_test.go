package link

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestTheSourcesOfAnInterface(t *testing.T) {
	mac := net.HardwareAddr{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}
	for _, c := range []struct {
		planned []string
		want    []string
		any     uint32
	}{
		{nil, []string{"fe80::11:22ff:fe33:4455"}, 1},
		{[]string{"172.16.142.2/24"}, []string{"::ffff:172.16.142.2", "fe80::11:22ff:fe33:4455"}, 0},
		{[]string{"fd00::2/64"}, []string{"fd00::2", "fe80::11:22ff:fe33:4455"}, 1},
	} {
		addresses, anyIPv4, err := sourcesOf(mac, c.planned)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range addresses {
			got = append(got, netip.AddrFrom16(a).String())
		}
		if !slices.Equal(got, c.want) || anyIPv4 != c.any {
			t.Errorf("%v: %v, any of IPv4 %d, want %v, %d", c.planned, got, anyIPv4, c.want, c.any)
		}
	}
}
