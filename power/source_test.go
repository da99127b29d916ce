package power

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
)

// TestUsersOfThisHostAreCountedApart: by the owners of their sockets, connected or not. Elsewhere an address is all that
// is known.
func TestUsersOfThisHostAreCountedApart(t *testing.T) {
	own, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	connected, err := net.Dial("udp", own.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	open, err := net.ListenPacket("udp", ":0") // a socket of IPv6 that speaks IPv4, too
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	stream, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	me := fmt.Sprintf("user %d of this host", os.Geteuid())
	at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(open.LocalAddr().(*net.UDPAddr).Port)))
	elsewhere := net.UDPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:99"))
	for what, test := range map[string]struct {
		client, own net.Addr
		want        string
	}{
		"connected":           {connected.LocalAddr(), own.LocalAddr(), me},
		"not connected":       {at, own.LocalAddr(), me},
		"TCP":                 {stream.LocalAddr(), listener.Addr(), me},
		"another machine":     {elsewhere, own.LocalAddr(), "192.0.2.1"},
		"this host's address": {elsewhere, net.UDPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:1")), "a user of this host whose socket is closed"},
		"no listener is told": {elsewhere, nil, "192.0.2.1"},
		"something else":      {&net.UnixAddr{Name: "@x", Net: "unix"}, nil, "@x"},
	} {
		if got := Source(test.client, test.own); got != test.want {
			t.Errorf("%s: %q, not %q", what, got, test.want)
		}
	}
}

// TestAddressesOfTheKernelsTables are as Linux prints them on x86.
func TestAddressesOfTheKernelsTables(t *testing.T) {
	client := netip.MustParseAddrPort("127.0.0.1:8080")
	for local, want := range map[string]bool{
		"0100007F:1F90": true, "00000000:1F90": true, "00000000000000000000000000000000:1F90": true,
		"0000000000000000FFFF00000100007F:1F90": true, "0200007F:1F90": false, "0100007F:1F91": false,
		"local_address": false, "": false, ":1F90": false, "0100007F": false, "01:1F90": false, "zzzzzzzz:1F90": false,
	} {
		if got := isAt(local, client); got != want {
			t.Errorf("%q: %v", local, got)
		}
	}
	if !isAt("00000000000000000000000001000000:1F90", netip.MustParseAddrPort("[::1]:8080")) {
		t.Error("the loopback address of IPv6")
	}
}
