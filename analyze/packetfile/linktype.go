package packetfile

import "fmt"

// LinkType says which header a packet's bytes begin with, numbered as in
// https://www.tcpdump.org/linktypes.html.
type LinkType uint32

// The link types that can be dissected.
const (
	Null     LinkType = 0   // BSD loopback: the address family, in the writer's byte order
	Ethernet LinkType = 1   // without preamble, usually without FCS
	RawBSD   LinkType = 12  // an IP packet, with the number of some systems
	RawOld   LinkType = 14  // the same, with the number of others
	Raw      LinkType = 101 // an IP packet
	Loop     LinkType = 108 // OpenBSD loopback: the address family, in network byte order
	Cooked   LinkType = 113 // Linux "any" device: LINUX_SLL
	IPv4     LinkType = 228
	IPv6     LinkType = 229
	Cooked2  LinkType = 276 // LINUX_SLL2

	// MoonSniffID is not in that list: a packet is MoonSniff's id, 4 bytes.
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

// Understood reports whether the header of its packets is known.
func (t LinkType) Understood() bool {
	switch t {
	case Null, Ethernet, RawBSD, RawOld, Raw, Loop, Cooked, IPv4, IPv6, Cooked2, MoonSniffID:
		return true
	}
	return false
}
