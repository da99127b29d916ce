package analyze

import (
	"encoding/binary"

	"nines.dev/nines/analyze/packetfile"
)

// The content key: what starts at the innermost network header, with its EtherType, up to a depth. Whatever a device on the way may change counts as zero: the TTL or hop limit, the TOS or
// traffic class, and the checksums of IP, UDP, TCP and SCTP, which a card may also fill in behind
// the capture. MAC addresses, VLAN tags and the headers of tunnels are not part of it, nor is what
// follows the packet: padding, the FCS, or what a switch has appended.

const (
	// contentBytes is the most bytes of a content key of the usual depth.
	contentBytes = usualDepth - etherAddresses
	// usualDepth is the depth of the published evaluation, from the beginning of an Ethernet frame
	// without tags.
	usualDepth = 64
	// WholePacket is a depth beyond any packet.
	WholePacket = 1 << 30
	// plainHeaders are the MAC header and an IPv4 header without options. The depth counts from
	// there: behind longer headers a key has as much as behind these.
	plainHeaders = etherAddresses + 2 + 20
	// maskedBytes is how far into a packet something may have to be masked: the first blocks.
	maskedBytes = contentBytes - 2 + 3*chainBytes
	// leastContent is what a key must have behind the IP header, unless the packet ends there: ports
	// and sequence number. Less is the same in many packets.
	leastContent = 8
)

// plainness is how a packet can be read without dissecting it.
type plainness uint8

const (
	notPlain plainness = iota
	plainUDP           // in IPv4 without options, on Ethernet, no fragment, and no tunnel
	plainTCP           // the same
)

// plainBytes is what a plain packet has at least: up to here its headers and checksums are.
const plainBytes = 60

func plainnessOf(link packetfile.LinkType, d []byte) plainness {
	if link != packetfile.Ethernet || len(d) < plainBytes || d[12] != 0x08 || d[13] != 0 || d[14] != 0x45 || d[20]&0x3f|d[21] != 0 {
		return notPlain
	}
	switch {
	case d[23] == protoTCP:
		return plainTCP
	case d[23] == protoUDP && !tunnelPort(binary.BigEndian.Uint16(d[36:])):
		return plainUDP
	}
	return notPlain
}

// plainContent is contentOf for plain packets, which nearly all are, word by word. Word 0 begins at
// 12.
func (x *extractor) plainContent(plain plainness, d []byte, end int) hash96 {
	_ = d[plainBytes-1]
	// One by one: a literal is built elsewhere and copied by wider loads, which wait until the
	// narrower stores before them have reached the cache.
	var w [contentWords]uint64
	w[0] = binary.LittleEndian.Uint64(d[12:]) &^ (0xff << 24)            // TOS: 15
	w[1] = binary.LittleEndian.Uint64(d[20:]) &^ (0xff<<16 | 0xffff<<32) // TTL: 22, checksum: 24
	w[2] = binary.LittleEndian.Uint64(d[28:])
	w[3] = binary.LittleEndian.Uint64(d[36:])
	w[4] = binary.LittleEndian.Uint64(d[44:])
	w[5] = binary.LittleEndian.Uint64(d[52:])
	if end == usualDepth {
		w[6] = uint64(binary.LittleEndian.Uint32(d[60:]))
	} else {
		for i, b := range d[60:end] {
			w[6] |= uint64(b) << (8 * i)
		}
	}
	if plain == plainUDP {
		w[3] &^= 0xffff << 32 // 40 and 41
	} else {
		w[4] &^= 0xffff << 48 // 50 and 51
	}
	return x.hash.of(&w, end-etherAddresses)
}

// contentOf hashes the key of a dissected packet.
func (x *extractor) contentOf(f *frame) (hash96, bool) {
	if f.network < 0 {
		return x.unknown(f.data)
	}
	depth := f.behind() + x.depth - plainHeaders
	end := f.end()
	if !f.says(min(end, depth)) || end < depth && f.length > end-f.network {
		return hash96{}, false // too little, or the capture cut it off
	}
	all := f.data[f.network:max(min(end, depth), f.network)]
	var head [maskedBytes]byte
	masked := head[:copy(head[:], all)]
	f.mask(masked)
	var first [8 * contentWords]byte
	binary.BigEndian.PutUint16(first[:], f.etherType)
	n := copy(first[2:contentBytes], masked)
	h := x.hash.block(&first, 2+n)
	h = x.chain(h, masked[n:])
	return x.chain(h, all[len(masked):]), true
}

// chainBytes of a key are in each block behind the first, behind the hash of those before it.
const chainBytes = 8*contentWords - 12

// chain continues the hash of a key.
func (x *extractor) chain(h hash96, rest []byte) hash96 {
	for len(rest) > 0 {
		var block [8 * contentWords]byte
		binary.LittleEndian.PutUint64(block[:], h.hi)
		binary.LittleEndian.PutUint32(block[8:], h.lo)
		n := copy(block[12:], rest)
		h = x.hash.block(&block, 12+n)
		rest = rest[n:]
	}
	return h
}

// behind is where the IP header ends; without one, as far behind the EtherType as with the usual.
func (f *frame) behind() int {
	if f.upper > 0 {
		return f.upper
	}
	return f.network + plainHeaders - etherAddresses - 2
}

// unknown is for packets of an unknown link type.
func (x *extractor) unknown(data []byte) (hash96, bool) {
	if len(data) < etherAddresses+leastContent {
		return hash96{}, false
	}
	f := frame{data: data, network: 0}
	return x.contentOf(&f)
}

// says reports whether a packet up to an offset differs from others.
func (f *frame) says(to int) bool {
	switch {
	case f.etherType != etherIPv4 && f.etherType != etherIPv6:
		return to-f.network >= leastContent
	case f.upper == 0: // a fragment, which the IP header tells apart, or a header that was cut off
		return f.fragment
	case to >= f.upper+leastContent || f.length > 0 && to >= f.network+f.length:
		return true
	}
	// The IP header has an id.
	return f.etherType == etherIPv4 && to >= f.upper && binary.BigEndian.Uint16(f.data[f.network+4:]) != 0
}

// mask clears what may change, in a copy of the packet's beginning.
func (f *frame) mask(h []byte) {
	zero := func(at, bytes int) {
		if len(h) > at {
			clear(h[at:min(len(h), at+bytes)])
		}
	}
	switch f.etherType {
	case etherIPv4:
		zero(1, 1)
		zero(8, 1)
		zero(10, 2)
	case etherIPv6:
		if len(h) >= 2 {
			h[0] &= 0xf0
			h[1] &= 0x0f
		}
		zero(7, 1)
	default:
		return
	}
	if at, bytes := f.checksum(); bytes > 0 {
		zero(at-f.network, bytes)
	}
}

// checksum is where that of the transport header is in data; no bytes without one.
func (f *frame) checksum() (at, bytes int) {
	switch {
	case f.upper == 0:
		return 0, 0
	case f.proto == protoUDP:
		return f.upper + 6, 2
	case f.proto == protoTCP:
		return f.upper + 16, 2
	case f.proto == protoSCTP: // RFC 9260; cards fill it in as well
		return f.upper + 8, 4
	}
	return 0, 0
}
