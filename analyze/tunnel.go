package analyze

import "encoding/binary"

// Tunnels carry a packet within another. A device that wraps or unwraps packets leaves the
// innermost one as it is, so that one is compared.

// maxTunnels is the most headers around a packet that are followed, so that no packet takes long.
const maxTunnels = 8

const (
	etherPPPoE      = 0x8864 // RFC 2516
	etherMPLS       = 0x8847 // RFC 5332
	etherMPLSOther  = 0x8848
	etherBridged    = 0x6558 // an Ethernet frame: RFC 7637, RFC 8926
	etherERSPAN     = 0x88be // types I and II: draft-foschiano-erspan
	etherERSPANIII  = 0x22eb
	protoIPIP       = 4  // RFC 2003
	protoIPv6In     = 41 // RFC 4213
	protoGRE        = 47 // RFC 2784, RFC 2890
	portGTPU        = 2152
	portVXLAN       = 4789
	portVXLANOld    = 8472 // Linux's own, from before RFC 7348
	portGeneve      = 6081
	pppIPv4         = 0x0021
	pppIPv6         = 0x0057
	greChecksum     = 0x8000
	greKey          = 0x2000
	greSequence     = 0x1000
	gtpUser         = 255 // the message that carries a packet: 3GPP TS 29.281
	vxlanIDPresent  = 0x08
	gtpMore         = 0x07 // extension header, sequence number, or N-PDU number
	gtpExtension    = 0x04
	erspanHead      = 8
	erspanIIIHead   = 12
	erspanPlatform  = 8 // more in type III, if its last bit is set
	mplsBottom      = 1 << 8
	pseudowireWord  = 4 // the control word of RFC 4385
	gtpHead         = 8
	gtpOptionalHead = 4
)

// tunnelPort reports whether UDP packets to a port may carry others.
func tunnelPort(port uint16) bool {
	switch port {
	case portVXLAN, portGeneve, portGTPU, portVXLANOld:
		return true
	}
	return false
}

// inner finds the packet within a packet; false if there is none, or not enough of it.
func (f *frame) inner() (frame, bool) {
	g := *f
	g.tunnels++
	g.etherType, g.network = 0, -1
	switch {
	case f.network < 0:
		return g, false
	case f.etherType == etherMPLS || f.etherType == etherMPLSOther:
		g.mpls(f.network)
	case f.etherType == etherPPPoE:
		g.ppp(f.network + 6)
	case f.upper == 0 || f.fragment:
		return g, false
	case f.proto == protoIPIP || f.proto == protoIPv6In:
		g.ipAt(f.upper)
	case f.proto == protoGRE:
		g.gre(f.upper)
	case f.proto == protoUDP && f.transport > 0:
		_, port := f.ports()
		g.udp(port, f.payload)
	default:
		return g, false
	}
	if g.network < 0 {
		return g, false
	}
	g.headers()
	return g, g.plausible()
}

// plausible reports whether what was found can be a packet.
func (f *frame) plausible() bool {
	if f.network > len(f.data) {
		return false
	}
	h := f.data[f.network:]
	switch f.etherType {
	case etherIPv4:
		return len(h) >= 20 && h[0]>>4 == 4 && h[0]&0xf >= 5 && (f.length == 0 || f.length >= 20)
	case etherIPv6:
		return len(h) >= 40 && h[0]>>4 == 6
	case etherMPLS, etherMPLSOther, etherPPPoE:
		return len(h) >= 4
	}
	return f.mac >= 0 && f.etherType >= etherLength
}

// mpls skips labels. Nothing says what is behind the last: IP has its version there, and an
// Ethernet frame may have a control word with zeros before it (RFC 4928).
func (f *frame) mpls(at int) {
	for ; len(f.data) > at+4; at += 4 {
		if binary.BigEndian.Uint32(f.data[at:])&mplsBottom == 0 {
			continue
		}
		at += 4
		switch f.data[at] >> 4 {
		case 4, 6:
			f.ipAt(at)
		case 0:
			f.ethernetAt(at + pseudowireWord)
		default:
			f.ethernetAt(at)
		}
		return
	}
}

func (f *frame) ppp(at int) {
	if len(f.data) < at+2 {
		return
	}
	switch binary.BigEndian.Uint16(f.data[at:]) {
	case pppIPv4, pppIPv6:
		f.ipAt(at + 2)
	}
}

func (f *frame) gre(at int) {
	if len(f.data) < at+4 {
		return
	}
	flags, kind := binary.BigEndian.Uint16(f.data[at:]), binary.BigEndian.Uint16(f.data[at+2:])
	at += 4
	for _, optional := range []uint16{greChecksum, greKey, greSequence} {
		if flags&optional != 0 {
			at += 4
		}
	}
	switch kind {
	case etherERSPAN:
		if flags&greSequence != 0 { // type I has no header of its own
			at += erspanHead
		}
		f.ethernetAt(at)
	case etherERSPANIII:
		if len(f.data) < at+erspanIIIHead {
			return
		}
		if f.data[at+erspanIIIHead-1]&1 != 0 {
			at += erspanPlatform
		}
		f.ethernetAt(at + erspanIIIHead)
	default:
		f.carried(kind, at)
	}
}

// carried is a packet whose type is known.
func (f *frame) carried(kind uint16, at int) {
	switch kind {
	case etherBridged:
		f.ethernetAt(at)
	case etherIPv4, etherIPv6, etherMPLS, etherMPLSOther:
		f.etherType, f.network = kind, at
	}
}

func (f *frame) udp(port uint16, at int) {
	if len(f.data) < at+8 {
		return
	}
	h := f.data[at:]
	switch port {
	case portVXLAN, portVXLANOld:
		if h[0]&vxlanIDPresent != 0 {
			f.ethernetAt(at + 8)
		}
	case portGeneve:
		f.carried(binary.BigEndian.Uint16(h[2:]), at+8+4*int(h[0]&0x3f))
	case portGTPU:
		f.gtp(at)
	}
}

// gtp follows 3GPP TS 29.281, version 1.
func (f *frame) gtp(at int) {
	h := f.data[at:]
	if h[0]>>4 != 3 || h[1] != gtpUser { // version 1, and not GTP'
		return
	}
	at += gtpHead
	if h[0]&gtpMore != 0 {
		at += gtpOptionalHead
		more := h[0]&gtpExtension != 0
		for more && len(f.data) > at && f.data[at-1] != 0 {
			length := 4 * int(f.data[at])
			if length == 0 {
				return
			}
			at += length
		}
	}
	f.ipAt(at)
}
