package plan

import (
	"net/netip"
	"testing"
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
