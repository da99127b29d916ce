package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

// Probes are sent as RFC 5227 (2.1.1) has it, with shorter waits: its seconds are for networks whose
// switches have just seen the cable.
const (
	probes     = 3
	probeEvery = 300 * time.Millisecond
	lastWait   = 500 * time.Millisecond
)

// ProbeAddresses asks the network of the uplink whether someone has the addresses of nodes, which are not
// there yet. It is an error if someone has.
func ProbeAddresses(ctx context.Context, m *plan.Management, nodes map[netip.Addr]string) error {
	device, err := net.InterfaceByName(m.Uplink.Name)
	if err != nil {
		return fmt.Errorf("find %s: %w", m.Uplink.Name, err)
	}
	// Of ARP only, and not before it is bound to the device.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	arp := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ARP >> 8, unix.ETH_P_ARP & 0xff})
	at := &unix.SockaddrLinklayer{Protocol: arp, Ifindex: device.Index}
	if err := unix.Bind(fd, at); err != nil {
		return fmt.Errorf("listen at %s: %w", device.Name, os.NewSyscallError("bind", err))
	}
	all := &unix.SockaddrLinklayer{Protocol: arp, Ifindex: device.Index, Halen: 6, Addr: [8]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}
	taken := map[netip.Addr]net.HardwareAddr{}
	for i := range probes {
		for address := range nodes {
			if err := unix.Sendto(fd, arpProbe(device.HardwareAddr, address), 0, all); err != nil {
				return fmt.Errorf("ask on %s for %s by ARP: %w", device.Name, address, os.NewSyscallError("sendto", err))
			}
		}
		wait := probeEvery
		if i == probes-1 {
			wait = lastWait
		}
		if err := hearARP(ctx, fd, time.Now().Add(wait), nodes, taken); err != nil {
			return err
		}
	}
	if len(taken) == 0 {
		return nil
	}
	var list []string
	for address, mac := range taken {
		list = append(list, fmt.Sprintf("%s, of node %s, is in use by the machine with the MAC address %s", address, nodes[address], mac))
	}
	slices.Sort(list)
	return exit.Wrongf("on the network of %s %s; write other addresses (--set management.addresses=FIRST-LAST)", device.Name, strings.Join(list, ", "))
}

// hearARP notes until a time who has the addresses of nodes.
func hearARP(ctx context.Context, fd int, until time.Time, nodes map[netip.Addr]string, taken map[netip.Addr]net.HardwareAddr) error {
	buffer := make([]byte, 256)
	for {
		left := time.Until(until)
		if left <= 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if errors.Is(err, unix.EINTR) || err == nil && ready == 0 {
			continue
		}
		if err != nil {
			return os.NewSyscallError("poll", err)
		}
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("recvfrom", err)
		}
		if mac, address, is := arpSender(buffer[:n]); is && nodes[address] != "" {
			taken[address] = mac
		}
	}
}

// arpHead begins each packet of ARP for IPv4 on Ethernet (RFC 826): the kinds and lengths of addresses.
var arpHead = [6]byte{0, 1, 8, 0, 6, 4}

// arpBytes is the length of such a packet.
const arpBytes = 28

// arpProbe asks who has an address, for nobody (RFC 5227, 2.1.1).
func arpProbe(from net.HardwareAddr, address netip.Addr) []byte {
	packet := make([]byte, arpBytes)
	copy(packet, arpHead[:])
	packet[7] = 1 // a request
	copy(packet[8:14], from)
	copy(packet[24:], address.AsSlice())
	return packet
}

// arpSender is who sent a packet of ARP, in an answer or a question, and from which address.
func arpSender(packet []byte) (net.HardwareAddr, netip.Addr, bool) {
	if len(packet) < arpBytes || [6]byte(packet[:6]) != arpHead {
		return nil, netip.Addr{}, false
	}
	return slices.Clone(net.HardwareAddr(packet[8:14])), netip.AddrFrom4([4]byte(packet[14:18])), true
}
