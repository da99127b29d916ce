package analyze

import (
	"encoding/binary"
	"net/netip"

	"nines.dev/nines/analyze/packetfile"
)

// EtherTypes (IEEE 802 numbers, www.iana.org/assignments/ieee-802-numbers) and IP
// protocols (www.iana.org/assignments/protocol-numbers).
const (
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
	etherOld  = 0x9100 // from before 802.1ad

	protoHopByHop = 0
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoFragment = 44
	protoOptions  = 60
)

const etherAddresses = 12 // bytes of the two MAC addresses

// frame holds the offsets of a packet's parts in data.
type frame struct {
	data []byte
	// ethernet: data begins with MAC addresses.
	ethernet bool
	// etherType is the type of what starts at network.
	etherType uint16
	network   int // -1: none
	proto     uint8
	// transport and payload are 0 if missing, as in all fragments but the first.
	transport int
	payload   int
}

// dissect finds the parts of a packet of a link type. Truncated parts count as missing.
func dissect(link packetfile.LinkType, data []byte) frame {
	f := frame{data: data, network: -1}
	switch link {
	case packetfile.Ethernet:
		f.ethernet = len(data) >= etherAddresses
		f.tags(etherAddresses)
	case packetfile.Cooked: // 14 bytes, then an EtherType, as in Ethernet
		f.tags(14)
	case packetfile.Cooked2: // the protocol first, 20 bytes in all
		if len(data) >= 20 {
			f.etherType, f.network = binary.BigEndian.Uint16(data), 20
		}
	case packetfile.Null, packetfile.Loop:
		f.ip(4)
	case packetfile.Raw, packetfile.RawBSD, packetfile.RawOld, packetfile.IPv4, packetfile.IPv6:
		f.ip(0)
	}
	switch f.etherType {
	case etherIPv4:
		f.ipv4()
	case etherIPv6:
		f.ipv6()
	}
	return f
}

// tags skips VLAN tags (IEEE 802.1Q).
func (f *frame) tags(at int) {
	for ; len(f.data) >= at+2; at += 4 {
		switch kind := binary.BigEndian.Uint16(f.data[at:]); kind {
		case etherVLAN, etherQinQ, etherOld:
		default:
			f.etherType, f.network = kind, at+2
			return
		}
	}
}

// ip sets the version of an IP packet at an offset.
func (f *frame) ip(at int) {
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

// ipv4 follows RFC 791.
func (f *frame) ipv4() {
	h := f.data[f.network:]
	if len(h) < 20 {
		return
	}
	f.proto = h[9]
	length := int(h[0]&0xf) * 4
	first := binary.BigEndian.Uint16(h[6:])&0x1fff == 0
	if length >= 20 && first {
		f.layer4(f.network + length)
	}
}

// ipv6 skips extension headers: RFC 8200 section 4.
func (f *frame) ipv6() {
	h := f.data[f.network:]
	if len(h) < 40 {
		return
	}
	next, at := h[6], 40
	for {
		f.proto = next
		switch next {
		case protoHopByHop, protoRouting, protoOptions:
			if len(h) < at+8 {
				return
			}
			next, at = h[at], at+8*(int(h[at+1])+1)
		case protoFragment:
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

// ports returns source and destination; 0 without ports.
func (f *frame) ports() (from, to uint16) {
	if f.transport == 0 {
		return 0, 0
	}
	return binary.BigEndian.Uint16(f.data[f.transport:]), binary.BigEndian.Uint16(f.data[f.transport+2:])
}

// load returns n bytes of the payload; nil if it has fewer.
func (f *frame) load(n int) []byte {
	if f.payload == 0 || len(f.data) < f.payload+n {
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
