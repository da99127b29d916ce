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
	// Content is the beginning of the innermost packet, without what a device on the way may change.
	Content Key = "content"
	// Published is the first 64 bytes of the frame without MAC addresses and checksums, as in the
	// published evaluation.
	Published Key = "published"
	// MoonSniff is MoonGen's u32 id at frame offset 42, followed by the mark 0x55, and the id in an
	// .mscap file.
	MoonSniff Key = "moonsniff"
	// Nines is the id and stream in nines' own payload, and whether the packet was measured.
	Nines Key = "nines"
	// Flow is the u32 id at the beginning of the payload, and both ports.
	Flow Key = "flow"
)

// Keys returns all of them, the default first.
func Keys() []Key { return []Key{Content, Published, MoonSniff, Nines, Flow} }

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

// readsID reports whether the key is an id.
func (k Key) readsID() bool { return k != Content && k != Published }

const payloadMark = 0x55 // of MoonSniff and nines

// What follows the id and the mark in nines' payload (docs/reference/engine-protocol.md): flags, of which one
// tells packets with equal ids apart and one marks those that only look for a path, and at the end the stream. Before there were streams,
// its two bytes were the highest of a 64-bit counter: the same wherever the packet was captured.
const (
	ninesFlags, ninesStream = 5, 16
	ninesBytes              = 18
	ninesMeasured           = 1
	ninesProbe              = 4
)

// extractor takes keys out of packets. It is safe for concurrent use.
type extractor struct {
	key  Key
	hash *hasher
	// depth is how much of a frame a content key covers, counted from the beginning of an Ethernet
	// frame without tags.
	depth int
	// words: plain packets have a content key that is read word by word.
	words bool
}

func newExtractor(key Key, depth int) *extractor {
	x := &extractor{key: key, hash: newHasher()}
	x.setDepth(depth)
	return x
}

func (x *extractor) setDepth(depth int) {
	x.depth, x.words = depth, x.key == Content && depth >= usualDepth
}

// of returns the hashed key of a packet; false if it has none.
func (x *extractor) of(plain plainness, link packetfile.LinkType, data []byte) (hash96, bool) {
	if x.words && plain != notPlain {
		// Its length by the IP header, behind the MAC header.
		if end := etherAddresses + 2 + int(binary.BigEndian.Uint16(data[16:])); end >= plainBytes && len(data) >= min(end, x.depth) {
			h := x.plainContent(plain, data, min(end, usualDepth))
			if end > usualDepth {
				h = x.chain(h, data[usualDepth:min(end, x.depth)])
			}
			return h, true
		}
	}
	switch x.key {
	case Content:
		f := dissect(link, data)
		return x.contentOf(&f)
	case Published:
		return x.published(link, data)
	}
	id, ok := x.id(plain, link, data)
	return mix(id), ok
}

// id is a packet's id with whatever else distinguishes it, in 64 bits.
func (x *extractor) id(plain plainness, link packetfile.LinkType, data []byte) (uint64, bool) {
	if link == packetfile.MoonSniffID {
		if len(data) < 4 {
			return 0, false
		}
		return uint64(binary.LittleEndian.Uint32(data)), x.key == MoonSniff
	}
	load, from, to := []byte(nil), uint16(0), uint16(0)
	// A plain packet has at least 60 bytes, but its payload may have fewer, and padding.
	if plain == plainUDP && binary.BigEndian.Uint16(data[16:]) >= 20+8+ninesBytes {
		load = data[42:][:ninesBytes]
		from, to = binary.BigEndian.Uint16(data[34:]), binary.BigEndian.Uint16(data[36:])
	} else {
		f := dissect(link, data)
		for _, n := range []int{ninesBytes, ninesFlags + 1, 5, 4} {
			if load = f.load(n); load != nil {
				break
			}
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
		if len(load) <= ninesFlags || load[4] != payloadMark || load[ninesFlags]&ninesProbe != 0 {
			return 0, false
		}
		id |= uint64(load[ninesFlags]&ninesMeasured) << 32
		// A capture that cuts its packets off before it has a single stream, the first.
		if len(load) >= ninesBytes {
			id |= uint64(binary.LittleEndian.Uint16(load[ninesStream:])) << 40
		}
		return id, true
	case Flow:
		return id | uint64(from)<<32 | uint64(to)<<48, true
	}
	return 0, false
}

// streamOf is the number of the stream, from 1, that a packet with this key of nines is of (see bytes); 0
// for the warm-up.
func streamOf(key []byte) uint16 {
	if key[4] != ninesMeasured {
		return 0
	}
	return binary.LittleEndian.Uint16(key[5:]) + 1
}

// bytes is a packet's key as the published evaluation writes it ("encode"): the masked content, or
// the bytes that the id was read from, in wire order.
func (x *extractor) bytes(link packetfile.LinkType, data []byte) []byte {
	if !x.key.readsID() {
		var buffer [contentBytes]byte
		n := publishedKey(&buffer, link, data)
		return buffer[:n]
	}
	id, _ := x.id(plainnessOf(link, data), link, data)
	key := binary.LittleEndian.AppendUint32(nil, uint32(id))
	switch x.key {
	case Nines:
		key = append(key, byte(id>>32))
		key = binary.LittleEndian.AppendUint16(key, uint16(id>>40))
	case Flow:
		key = binary.BigEndian.AppendUint16(key, uint16(id>>32))
		key = binary.BigEndian.AppendUint16(key, uint16(id>>48))
	}
	return key
}
