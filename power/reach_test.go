package power

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestOnlyANetworkIsHeard: packets and connections of other addresses are dropped. All of 127.0.0.0/8 is the
// host's.
func TestOnlyANetworkIsHeard(t *testing.T) {
	network := netip.MustParsePrefix("127.78.1.0/24")
	conn, err := net.ListenPacket("udp", "127.78.1.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	near := OnlyFrom(conn, network)
	for _, from := range []string{"127.78.2.9", "127.0.0.1", "127.78.1.9"} {
		client, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, conn.LocalAddr().(*net.UDPAddr))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Write([]byte(from)); err != nil {
			t.Fatal(err)
		}
	}
	buffer := make([]byte, 100)
	if n, _, err := near.ReadFrom(buffer); err != nil || string(buffer[:n]) != "127.78.1.9" {
		t.Errorf("the first packet that is heard is %q, %v", buffer[:n], err)
	}
	_ = conn.SetReadDeadline(time.Unix(1, 0))
	if _, _, err := near.ReadFrom(buffer); err == nil {
		t.Error("the end of a deadline is not told")
	}

	listener, err := net.Listen("tcp", "127.78.1.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan string, 3)
	go func() {
		defer close(accepted)
		for clients := OnlyClientsFrom(listener, network); ; {
			client, err := clients.Accept()
			if err != nil {
				return
			}
			accepted <- client.RemoteAddr().(*net.TCPAddr).IP.String()
			_ = client.Close()
		}
	}()
	for _, from := range []string{"127.78.2.9", "127.78.1.9"} {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		client, err := dialer.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(buffer); err == nil {
			t.Errorf("%s is sent something", from)
		}
		_ = client.Close()
	}
	_ = listener.Close()
	var all []string
	for from := range accepted {
		all = append(all, from)
	}
	if len(all) != 1 || all[0] != "127.78.1.9" {
		t.Errorf("accepted are %v", all)
	}
}
