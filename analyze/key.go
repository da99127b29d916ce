package analyze

import (
	"encoding/binary"
	"fmt"
	"strings"

	"nines.dev/nines/analyze/packetfile"
)

// Key says what identifies a packet in both captures.
type Key string

// The keys. Those that read an id ignore packets without one.
const (
	// Content is the first 64 bytes of the frame without MAC addresses and checksums, as in the
	// published evaluation.
	Content Key = "content"
	// MoonSniff is MoonGen's u32 id at frame offset 42, followed by the mark 0x55, and the id in an
	// .mscap file.
	MoonSniff Key = "moonsniff"
	// Nines is the id and stream in nines' own payload.
	Nines Key = "nines"
	// Flow is the u32 id at the beginning of the payload, and both ports.
	Flow Key = "flow"
)

// Keys returns all of them, the default first.
func Keys() []Key { return []Key{Content, MoonSniff, Nines, Flow} }

// ParseKey reads a key's name.
func ParseKey(name string) (Key, error) {
	var names []string
	for _, k := range Keys() {
		if string(k) == name {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", fmt.Errorf("unknown key %q; allowed: %s", name, strings.Join(names, ", "))
}

// wraps reports whether a key repeats after a while, because its id has 32 bits.
func (k Key) wraps() bool { return k != Content }

const payloadMark = 0x55 // of MoonSniff and nines

// extractor takes keys out of packets. It is safe for concurrent use.
type extractor struct {
	key     Key
	maskTTL bool
	hash    *hasher
}

// of returns the hashed key of a packet; false if it has none.
func (x *extractor) of(link packetfile.LinkType, data []byte) (hash96, bool) {
	if x.key != Content {
		id, ok := x.id(link, data)
		return mix(id), ok
	}
	if link == packetfile.Ethernet && len(data) >= 60 && !x.maskTTL {
		return x.whole(data), true
	}
	var buffer [contentBytes]byte
	n := x.content(&buffer, link, data)
	var words [contentWords]uint64
	for i := range contentWords - 1 {
		words[i] = binary.LittleEndian.Uint64(buffer[8*i:])
	}
	words[contentWords-1] = uint64(binary.LittleEndian.Uint32(buffer[8*(contentWords-1):]))
	return x.hash.of(&words, n), true
}

// whole is content for frames of at least 60 bytes (64 with the FCS), which nearly all packets are,
// word by word. Word 0 begins at 12.
func (x *extractor) whole(d []byte) hash96 {
	_ = d[59]
	// One by one: a literal is built elsewhere and copied by wider loads, which wait until the
	// narrower stores before them have reached the cache.
	var w [contentWords]uint64
	w[0] = binary.LittleEndian.Uint64(d[12:])
	w[1] = binary.LittleEndian.Uint64(d[20:])
	w[2] = binary.LittleEndian.Uint64(d[28:])
	w[3] = binary.LittleEndian.Uint64(d[36:])
	w[4] = binary.LittleEndian.Uint64(d[44:])
	w[5] = binary.LittleEndian.Uint64(d[52:])
	n := min(len(d), 64)
	if n == 64 {
		w[6] = uint64(binary.LittleEndian.Uint32(d[60:]))
	} else {
		for i, b := range d[60:] {
			w[6] |= uint64(b) << (8 * i)
		}
	}
	if d[14] == 0x45 {
		w[1] &^= 0xffff << 32 // 24 and 25
		switch d[23] {
		case protoUDP:
			w[3] &^= 0xffff << 32 // 40 and 41
		case protoTCP:
			w[4] &^= 0xffff << 48 // 50 and 51
		}
	}
	return x.hash.of(&w, n-etherAddresses)
}

// content writes a content key and returns its length: bytes 12 to 64 of the frame with
// checksums set to zero, that is, if byte 14 shows IPv4 without options, the IP
// checksum (24, 25) and UDP's (40, 41) or TCP's (50, 51). Packets that were captured
// without an Ethernet header get the key that they would have with one.
//
// With the TTL masked, VLAN tags are skipped, and the TTL or hop limit and the IP checksum are
// zero: routers change them.
func (x *extractor) content(key *[contentBytes]byte, link packetfile.LinkType, data []byte) int {
	n := 0
	f := frame{network: -1}
	if link != packetfile.Ethernet || x.maskTTL {
		f = dissect(link, data)
	}
	switch {
	case link == packetfile.Ethernet && (!x.maskTTL || f.network < 0):
		if len(data) > etherAddresses {
			n = copy(key[:], data[etherAddresses:])
		}
	case f.network < 0: // unknown
		n = copy(key[:], data)
	default:
		binary.BigEndian.PutUint16(key[:], f.etherType)
		n = 2 + copy(key[2:], data[f.network:])
	}
	zero := func(at, bytes int) {
		if n > at {
			clear(key[at:min(n, at+bytes)])
		}
	}
	if n > 2 && key[2] == 0x45 {
		zero(12, 2)
		switch {
		case n <= 11:
		case key[11] == protoUDP:
			zero(28, 2)
		case key[11] == protoTCP:
			zero(38, 2)
		}
	}
	if x.maskTTL && f.network >= 0 {
		switch f.etherType {
		case etherIPv4:
			zero(10, 1)
			zero(12, 2)
		case etherIPv6:
			zero(9, 1)
		}
	}
	return n
}

// id is a packet's id with whatever else distinguishes it, in 64 bits.
func (x *extractor) id(link packetfile.LinkType, data []byte) (uint64, bool) {
	if link == packetfile.MoonSniffID {
		if len(data) < 4 {
			return 0, false
		}
		return uint64(binary.LittleEndian.Uint32(data)), x.key == MoonSniff
	}
	// Nearly all packets: UDP in IPv4 without options, payload at 42.
	plain := link == packetfile.Ethernet && len(data) >= 48 && data[12] == 0x08 && data[13] == 0 && data[14] == 0x45 && data[23] == protoUDP &&
		binary.BigEndian.Uint16(data[20:])&0x1fff == 0
	load, from, to := []byte(nil), uint16(0), uint16(0)
	if plain {
		load = data[42:48]
		from, to = binary.BigEndian.Uint16(data[34:]), binary.BigEndian.Uint16(data[36:])
	} else {
		f := dissect(link, data)
		load = f.load(4)
		if longer := f.load(6); longer != nil {
			load = longer
		} else if longer := f.load(5); longer != nil {
			load = longer
		}
		from, to = f.ports()
	}
	if len(load) < 4 {
		return 0, false
	}
	id := uint64(binary.LittleEndian.Uint32(load))
	switch x.key {
	case MoonSniff:
		return id, len(load) >= 5 && load[4] == payloadMark
	case Nines:
		if len(load) < 6 || load[4] != payloadMark {
			return 0, false
		}
		return id | uint64(load[5])<<32, true
	case Flow:
		return id | uint64(from)<<32 | uint64(to)<<48, true
	}
	return 0, false
}

// bytes is a packet's key as the published evaluation writes it ("encode"): the masked content, or
// the bytes that the id was read from, in wire order.
func (x *extractor) bytes(link packetfile.LinkType, data []byte) []byte {
	if x.key == Content {
		var buffer [contentBytes]byte
		n := x.content(&buffer, link, data)
		return buffer[:n]
	}
	id, _ := x.id(link, data)
	key := binary.LittleEndian.AppendUint32(nil, uint32(id))
	switch x.key {
	case Nines:
		key = append(key, byte(id>>32))
	case Flow:
		key = binary.BigEndian.AppendUint16(key, uint16(id>>32))
		key = binary.BigEndian.AppendUint16(key, uint16(id>>48))
	}
	return key
}
