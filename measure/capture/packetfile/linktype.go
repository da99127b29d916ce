package packetfile

import (
	"encoding/binary"
	"fmt"
)

// LinkType is what a packet's bytes begin with, by the numbers of
// https://www.tcpdump.org/linktypes.html.
type LinkType uint32

// The link types whose packets can be understood.
const (
	Null     LinkType = 0   // BSD loopback: the address family, in the writer's byte order
	Ethernet LinkType = 1   // without preamble, usually without FCS
	RawBSD   LinkType = 12  // an IP packet, as some systems number it
	RawOld   LinkType = 14  // the same, of others
	Raw      LinkType = 101 // an IP packet
	Loop     LinkType = 108 // OpenBSD loopback: the address family, in network byte order
	Cooked   LinkType = 113 // Linux "any" device: LINUX_SLL
	IPv4     LinkType = 228
	IPv6     LinkType = 229
	Cooked2  LinkType = 276 // LINUX_SLL2

	// MoonSniffID is not a link type of theirs: a packet is 4 bytes, MoonSniff's id.
	MoonSniffID LinkType = 1 << 31
)

func (t LinkType) String() string {
	switch t {
	case Null:
		return "BSD loopback"
	case Ethernet:
		return "Ethernet"
	case RawBSD, RawOld, Raw:
		return "raw IP"
	case Loop:
		return "OpenBSD loopback"
	case Cooked:
		return "Linux cooked"
	case IPv4:
		return "raw IPv4"
	case IPv6:
		return "raw IPv6"
	case Cooked2:
		return "Linux cooked v2"
	case MoonSniffID:
		return "MoonSniff id"
	}
	return fmt.Sprintf("link type %d", uint32(t))
}

// Understood is whether Network knows packets of this type.
func (t LinkType) Understood() bool {
	switch t {
	case Null, Ethernet, RawBSD, RawOld, Raw, Loop, Cooked, IPv4, IPv6, Cooked2:
		return true
	}
	return false
}

const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
)

// Network finds the network header of a packet: its EtherType, and where it begins
// behind link header and VLAN tags. False if the packet is too short, or not understood.
func (t LinkType) Network(packet []byte) (etherType uint16, at int, ok bool) {
	switch t {
	case Ethernet:
		return tagged(packet, 12)
	case Cooked: // type u16, device type u16, address length u16, address, protocol
		return tagged(packet, 14)
	case Cooked2: // the protocol comes first
		if len(packet) < 20 {
			return 0, 0, false
		}
		switch etherType = binary.BigEndian.Uint16(packet); etherType {
		case 0x8100, 0x88a8:
			return tagged(packet, 22) // behind the tag's first half
		}
		return etherType, 20, true
	case RawBSD, RawOld, Raw, IPv4, IPv6:
		return version(packet, 0)
	case Null, Loop:
		return version(packet, 4)
	}
	return 0, 0, false
}

// tagged reads an EtherType, behind tags of 802.1Q and 802.1ad.
func tagged(packet []byte, at int) (etherType uint16, network int, ok bool) {
	for len(packet) >= at+2 {
		etherType = binary.BigEndian.Uint16(packet[at:])
		if etherType != 0x8100 && etherType != 0x88a8 {
			return etherType, at + 2, true
		}
		at += 4
	}
	return 0, 0, false
}

// version tells IPv4 from IPv6 by the packet itself: the numbers of address families
// differ between systems.
func version(packet []byte, at int) (etherType uint16, network int, ok bool) {
	if len(packet) > at {
		switch packet[at] >> 4 {
		case 4:
			return etherIPv4, at, true
		case 6:
			return etherIPv6, at, true
		}
	}
	return 0, 0, false
}
