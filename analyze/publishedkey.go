package analyze

import (
	"encoding/binary"

	"nines.dev/nines/analyze/packetfile"
)

// publishedKey writes the key of the published evaluation and returns its length: bytes 12 to 64 of
// the frame with checksums set to zero, that is, if byte 14 shows IPv4 without options, the IP
// checksum (24, 25) and UDP's (40, 41) or TCP's (50, 51). Packets that were captured without an
// Ethernet header get the key that they would have with one.
func publishedKey(key *[contentBytes]byte, link packetfile.LinkType, data []byte) int {
	n := 0
	if link == packetfile.Ethernet {
		if len(data) > etherAddresses {
			n = copy(key[:], data[etherAddresses:])
		}
	} else if f := outermost(link, data); f.network < 0 {
		n = copy(key[:], data)
	} else {
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
	return n
}

// published returns the hashed key; false if the packet has none.
func (x *extractor) published(link packetfile.LinkType, data []byte) (hash96, bool) {
	var key [8 * contentWords]byte
	n := publishedKey((*[contentBytes]byte)(key[:]), link, data)
	return x.hash.block(&key, n), n > 0
}
