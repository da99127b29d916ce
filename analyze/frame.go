package analyze

import (
	"encoding/binary"
	"net/netip"

	"nines.dev/nines/analyze/packetfile"
)

// EtherTypes (IEEE 802 numbers, www.iana.org/assignments/ieee-802-numbers) and IP
// protocols (www.iana.org/assignments/protocol-numbers).
const (
	etherIPv4  = 0x0800
	etherARP   = 0x0806
	etherIPv6  = 0x86dd
	etherVLAN  = 0x8100
	etherQinQ  = 0x88a8
	etherOld   = 0x9100 // from before 802.1ad
	etherOlder = 0x9200
	// etherLength: smaller values are lengths (IEEE 802.3), as of spanning tree.
	etherLength = 0x0600

	protoHopByHop = 0
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoFragment = 44
	protoAH       = 51
	protoOptions  = 60
	protoSCTP     = 132
	protoMobility = 135
	protoHIP      = 139
	protoShim6    = 140
)

const etherAddresses = 12 // bytes of the two MAC addresses

// frame holds the offsets of a packet's parts in data. In a tunnel they are those of the innermost
// packet.
type frame struct {
	data []byte
	mac  int // where the MAC addresses are; -1: none
	tags int // VLAN tags
	// tunnels are the headers around the packet.
	tunnels int
	// etherType is the type of what starts at network.
	etherType uint16
	network   int // -1: none
	// length is that of the packet at network by its own header; 0 if it does not say.
	length int
	proto  uint8
	// upper is where the IP header and its extensions end; 0 if missing, as in all fragments but
	// the first.
	upper    int
	fragment bool
	// transport and payload are 0 if missing, as in all fragments but the first.
	transport int
	payload   int
}

// dissect finds the parts of a packet of a link type. Truncated parts count as missing.
func dissect(link packetfile.LinkType, data []byte) frame {
	f := outermost(link, data)
	for range maxTunnels {
		inner, ok := f.inner()
		if !ok {
			break
		}
		f = inner
	}
	return f
}

// outermost does not look into tunnels.
func outermost(link packetfile.LinkType, data []byte) frame {
	f := frame{data: data, mac: -1, network: -1}
	switch link {
	case packetfile.Ethernet:
		f.ethernetAt(0)
	case packetfile.Cooked: // 14 bytes, then an EtherType, as in Ethernet
		f.typeAt(14)
	case packetfile.Cooked2: // the protocol first, 20 bytes in all
		if len(data) >= 20 {
			f.etherType, f.network = binary.BigEndian.Uint16(data), 20
		}
	case packetfile.Null, packetfile.Loop:
		f.ipAt(4)
	case packetfile.Raw, packetfile.RawBSD, packetfile.RawOld, packetfile.IPv4, packetfile.IPv6:
		f.ipAt(0)
	}
	f.headers()
	return f
}

// ethernetAt begins with a MAC header.
func (f *frame) ethernetAt(at int) {
	f.tags = 0
	if len(f.data) >= at+etherAddresses {
		f.mac = at
		f.typeAt(at + etherAddresses)
	}
}

// typeAt reads an EtherType, and skips VLAN tags (IEEE 802.1Q).
func (f *frame) typeAt(at int) {
	for ; len(f.data) >= at+2; at += 4 {
		switch kind := binary.BigEndian.Uint16(f.data[at:]); kind {
		case etherVLAN, etherQinQ, etherOld, etherOlder:
			f.tags++
		default:
			f.etherType, f.network = kind, at+2
			return
		}
	}
}

// ipAt sets the version of an IP packet at an offset.
func (f *frame) ipAt(at int) {
	if len(f.data) <= at {
		return
	}
	f.network = at
	switch f.data[at] >> 4 {
	case 4:
		f.etherType = etherIPv4
	case 6:
		f.etherType = etherIPv6
	}
}

// headers parses what begins at network.
func (f *frame) headers() {
	f.length, f.proto, f.upper, f.fragment, f.transport, f.payload = 0, 0, 0, false, 0, 0
	if f.network < 0 {
		return
	}
	h := f.data[min(f.network, len(f.data)):]
	switch {
	case f.etherType == etherIPv4:
		f.ipv4(h)
	case f.etherType == etherIPv6:
		f.ipv6(h)
	case f.etherType == etherARP && len(h) >= 8: // RFC 826
		f.length = 8 + 2*(int(h[4])+int(h[5]))
	case f.etherType < etherLength:
		f.length = int(f.etherType)
	}
}

// ipv4 follows RFC 791. A length of 0 is that of a packet to be segmented by the card.
func (f *frame) ipv4(h []byte) {
	if len(h) < 20 {
		return
	}
	f.proto = h[9]
	f.length = int(binary.BigEndian.Uint16(h[2:]))
	header := int(h[0]&0xf) * 4
	offset := binary.BigEndian.Uint16(h[6:])
	f.fragment = offset&0x3fff != 0
	if header >= 20 && offset&0x1fff == 0 {
		f.layer4(f.network + header)
	}
}

// ipv6 skips extension headers: RFC 8200 section 4, and that of authentication: RFC 4302.
func (f *frame) ipv6(h []byte) {
	if len(h) < 40 {
		return
	}
	if payload := int(binary.BigEndian.Uint16(h[4:])); payload > 0 { // not a jumbogram
		f.length = 40 + payload
	}
	next, at := h[6], 40
	for {
		f.proto = next
		switch next {
		case protoHopByHop, protoRouting, protoOptions, protoMobility, protoHIP, protoShim6:
			if len(h) < at+8 {
				return
			}
			next, at = h[at], at+8*(int(h[at+1])+1)
		case protoAH:
			if len(h) < at+8 {
				return
			}
			next, at = h[at], at+4*(int(h[at+1])+2)
		case protoFragment:
			f.fragment = true
			if len(h) < at+8 || binary.BigEndian.Uint16(h[at+2:])&0xfff8 != 0 {
				return
			}
			next, at = h[at], at+8
		default:
			f.layer4(f.network + at)
			return
		}
	}
}

func (f *frame) layer4(at int) {
	if f.upper = at; f.proto == protoAH && f.etherType == etherIPv4 && len(f.data) >= at+8 {
		f.proto, f.upper = f.data[at], at+4*(int(f.data[at+1])+2)
		at = f.upper
	}
	switch {
	case f.proto == protoUDP && len(f.data) >= at+8:
		f.transport, f.payload = at, at+8
	case f.proto == protoTCP && len(f.data) >= at+20:
		f.transport = at
		if length := int(f.data[at+12]>>4) * 4; length >= 20 {
			f.payload = at + length
		}
	}
}

// end is where the packet ends in data: at its length, without padding, FCS and whatever else was
// appended to it.
func (f *frame) end() int {
	if f.network >= 0 && f.length > 0 {
		return min(f.network+f.length, len(f.data))
	}
	return len(f.data)
}

// ports returns source and destination; 0 without ports.
func (f *frame) ports() (from, to uint16) {
	if f.transport == 0 {
		return 0, 0
	}
	return binary.BigEndian.Uint16(f.data[f.transport:]), binary.BigEndian.Uint16(f.data[f.transport+2:])
}

// load returns n bytes of the payload; nil if it has fewer.
func (f *frame) load(n int) []byte {
	if f.payload == 0 || f.end() < f.payload+n {
		return nil
	}
	return f.data[f.payload:][:n]
}

// addresses returns those of the IP header; invalid without one.
func (f *frame) addresses() (from, to netip.Addr) {
	if f.network < 0 || f.network >= len(f.data) {
		return
	}
	h := f.data[f.network:]
	switch {
	case f.etherType == etherIPv4 && len(h) >= 20:
		return netip.AddrFrom4([4]byte(h[12:16])), netip.AddrFrom4([4]byte(h[16:20]))
	case f.etherType == etherIPv6 && len(h) >= 40:
		return netip.AddrFrom16([16]byte(h[8:24])), netip.AddrFrom16([16]byte(h[24:40]))
	}
	return
}
