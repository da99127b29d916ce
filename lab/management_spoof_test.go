package lab

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestANodeSendsFromItsOwnAddressesOnly: on the management network no node takes another's place, or the host's. Each
// frame goes to all, with a mark by which the host knows it:
//
//	a (attack) ──┐
//	             bridge ── host, with a packet socket
//	b ───────────┘
func TestANodeSendsFromItsOwnAddressesOnly(t *testing.T) {
	labtest.Root(t)
	lab := up(t, fmt.Sprintf(`
name: tbspoof
management: {subnet: 172.31.251.0/24, dns: false}
topology:
  nodes:
    a: {runtime: lxc, mounts: [{source: %q, target: /attack, read_only: true}]}
    b: {}
`, labtest.Attack(t)))
	m := lab.Plan().Management
	own, other := endOn(t, lab, "a"), endOn(t, lab, "b")
	zero := netip.MustParseAddr("0.0.0.0")
	host := hears(t, m.Device)
	for mark, c := range []struct {
		what   string
		frame  []byte
		passes bool
	}{
		{"its own addresses", ipv4(own.mac, own.ip, 1000, 2000), true},
		{"another MAC address", ipv4(other.mac, own.ip, 1000, 2000), false},
		{"the address of another node", ipv4(own.mac, other.ip, 1000, 2000), false},
		{"the host's address", ipv4(own.mac, netip.MustParseAddr(m.Address), 1000, 2000), false},
		{"a question for an address", ipv4(own.mac, zero, 68, 67), true},
		{"no address", ipv4(own.mac, zero, 1000, 2000), false},
		{"ARP", arp(own.mac, own.mac, own.ip), true},
		{"ARP that asks who has an address", arp(own.mac, own.mac, zero), true},
		{"ARP for another node", arp(own.mac, own.mac, other.ip), false},
		{"ARP with another MAC address", arp(own.mac, other.mac, own.ip), false},
		{"a VLAN", tagged(ipv4(own.mac, other.ip, 1000, 2000)), false},
		{"its own link-local address", ipv6(own.mac, linkLocalOf(own.mac), 0, netip.Addr{}), true},
		{"another link-local address", ipv6(own.mac, linkLocalOf(other.mac), 0, netip.Addr{}), false},
		{"an advertisement for another node", ipv6(own.mac, linkLocalOf(own.mac), 136, linkLocalOf(other.mac)), false},
	} {
		sign := fmt.Sprintf("frame %d of the attack", mark)
		frame := append(c.frame, sign...)
		if c.frame[12] == 0x08 && c.frame[13] == 0x00 {
			binary.BigEndian.PutUint16(frame[16:], uint16(len(frame)-14))
		}
		in(t, lab, "a", "/attack", "send", spec.ManagementInterface, hex.EncodeToString(frame))
		in(t, lab, "a", "/attack", "send", spec.ManagementInterface, hex.EncodeToString(append(ipv4(own.mac, own.ip, 9, 9), "end of "+sign...)))
		if passed := host.has(t, sign); passed != c.passes {
			t.Errorf("%s: it passed is %v", c.what, passed)
		}
	}
}

// managedEnd is a node's end of the management network.
type managedEnd struct {
	mac net.HardwareAddr
	ip  netip.Addr
}

func endOn(t *testing.T, lab *Lab, nodeName string) managedEnd {
	t.Helper()
	for _, i := range lab.Plan().Node(nodeName).Interfaces {
		if i.Link == lab.Plan().Management.Link {
			mac, err := net.ParseMAC(i.MAC)
			if err != nil {
				t.Fatal(err)
			}
			return managedEnd{mac, netip.MustParsePrefix(i.Addresses[0]).Addr()}
		}
	}
	t.Fatalf("node %s is not on the management network", nodeName)
	return managedEnd{}
}

var everyone = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func ethernet(from net.HardwareAddr, kind uint16) []byte {
	return binary.BigEndian.AppendUint16(append(bytes.Clone(everyone), from...), kind)
}

// ipv4 is a UDP datagram without checksums, which nobody here looks at.
func ipv4(mac net.HardwareAddr, from netip.Addr, source, destination uint16) []byte {
	frame := append(ethernet(mac, unix.ETH_P_IP), 0x45, 0, 0, 0, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0)
	frame = append(append(frame, from.AsSlice()...), 255, 255, 255, 255)
	frame = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(frame, source), destination)
	return append(frame, 0, 0, 0, 0)
}

func arp(mac, sender net.HardwareAddr, from netip.Addr) []byte {
	frame := append(ethernet(mac, unix.ETH_P_ARP), 0, 1, 8, 0, 6, 4, 0, 2)
	frame = append(append(frame, sender...), from.AsSlice()...)
	return append(append(frame, everyone...), from.AsSlice()...)
}

func tagged(frame []byte) []byte {
	return append(append(bytes.Clone(frame[:12]), 0x81, 0, 0, 5), frame[12:]...)
}

// ipv6 is a message of ICMPv6 to all nodes, with a target where it has one.
func ipv6(mac net.HardwareAddr, from netip.Addr, kind byte, target netip.Addr) []byte {
	frame := append(ethernet(mac, unix.ETH_P_IPV6), 0x60, 0, 0, 0, 0, 64, unix.IPPROTO_ICMPV6, 255)
	frame = append(append(frame, from.AsSlice()...), netip.MustParseAddr("ff02::1").AsSlice()...)
	return append(append(frame, kind, 0, 0, 0, 0, 0, 0, 0), target.AsSlice()...)
}

func linkLocalOf(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}

// listener is a packet socket.
type listener int

func hears(t *testing.T, device string) listener {
	t.Helper()
	found, err := net.InterfaceByName(device)
	if err != nil {
		t.Fatal(err)
	}
	const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all&0xffff)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: found.Index, Protocol: all & 0xffff}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 20}); err != nil {
		t.Fatal(err)
	}
	return listener(fd)
}

// has is true if a frame with the sign comes before the one that follows it.
func (l listener) has(t *testing.T, sign string) (found bool) {
	t.Helper()
	for frame, from := make([]byte, 2048), time.Now(); time.Since(from) < 20*time.Second; {
		n, err := unix.Read(int(l), frame)
		if err != nil {
			t.Fatalf("nothing more comes: %v", err)
		}
		switch {
		case bytes.Contains(frame[:n], []byte("end of "+sign)):
			return found
		case bytes.HasSuffix(frame[:n], []byte(sign)):
			found = true
		}
	}
	t.Fatal("the frame that always passes has not come")
	return false
}
