package packetfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// pcapng: draft-ietf-opsawg-pcapng. A file is a series of blocks {u32 type, u32 length, body, u32
// length again}, in sections with their own byte order and interfaces.
const (
	blockSection    = 0x0a0d0d0a // a palindrome: the same in both byte orders
	blockInterface  = 1
	blockObsolete   = 2 // packets, until 2004
	blockSimple     = 3 // packets without a time
	blockStatistics = 5
	blockEnhanced   = 6

	pcapngByteOrder = 0x1a2b3c4d

	blockBytes   = 12 // type and both lengths
	sectionBytes = 28
	// The fixed parts of packet blocks before their data, including the type.
	simpleHead   = 12
	enhancedHead = 28 // and that of the obsolete one
)

// pcapngState is the state for reading a section.
type pcapngState struct {
	swapped bool
	first   uint32   // index of the section's first interface in Info.Interfaces
	timings []timing // of the section's interfaces
	drops   []drops  // likewise
	// direction is that of the last packet, if it has one.
	direction Direction
}

func (s *pcapngState) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if s.swapped {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (s *pcapngState) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if s.swapped {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (s *pcapngState) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if s.swapped {
		v = bits.ReverseBytes64(v)
	}
	return v
}

func isPcapng(head []byte) bool {
	return len(head) >= 4 && binary.LittleEndian.Uint32(head) == blockSection
}

// beginPcapng reads the section header and the interfaces before the first packet, so that Info
// includes them.
func (r *Reader) beginPcapng() error {
	r.info.Format = Pcapng
	r.pcapng = pcapngState{}
	r.parse = (*Reader).parsePcapng
	if !r.window.need(sectionBytes) {
		return r.headCut(fmt.Sprintf("its section header has %d bytes instead of %d", r.window.end-r.window.at, sectionBytes))
	}
	unreadable := func(problem string) error {
		return exit.Wrongf("%s: is a pcapng file that cannot be read: %s; capture or copy it again", r.source.path, problem)
	}
	for first := true; r.moreBlock(); first = false {
		kind, length, _ := r.pcapng.head(r.window.data[r.window.at:r.window.end])
		if first != (kind == blockSection) || !first && kind != blockInterface {
			break // an interface before a section, or the like, is found when reading packets
		}
		if problem := r.describe(kind, r.window.data[r.window.at:][:length]); problem != "" {
			if first {
				return unreadable(problem)
			}
			break // also found then, as damage
		}
		r.window.at += int(length)
	}
	if r.damage != nil && r.window.offset() == 0 {
		return unreadable(r.damage.Reason)
	}
	r.damage = nil // found again when reading packets
	if len(r.info.Interfaces) > 0 {
		i := r.info.Interfaces[0]
		r.info.LinkType, r.info.Resolution, r.info.SnapLength = i.LinkType, i.Resolution, i.SnapLength
	}
	return nil
}

// head returns a block's type and length, from at least blockBytes of it. Those of a section header
// have the byte order that the header announces.
func (s *pcapngState) head(data []byte) (kind, length uint32, problem string) {
	kind, length = s.u32(data), s.u32(data[4:])
	if kind == blockSection {
		order := binary.LittleEndian.Uint32(data[8:])
		length = binary.LittleEndian.Uint32(data[4:])
		switch {
		case order == pcapngByteOrder:
		case order == bits.ReverseBytes32(pcapngByteOrder):
			length = bits.ReverseBytes32(length)
		default:
			return kind, length, fmt.Sprintf("a section without a byte order (%#08x)", order)
		}
	}
	if length%4 != 0 || length < blockBytes {
		return kind, length, fmt.Sprintf("a block of type %#x claims to have %d bytes, which is not a multiple of 4 from 12 on", kind, length)
	}
	return kind, length, ""
}

func (r *Reader) parsePcapng(out []Packet) int {
	for {
		n, problem := r.takePcapng(out)
		switch {
		case n > 0:
			return n
		case problem != "":
			return r.broken(problem, "")
		case !r.moreBlock():
			return 0
		}
	}
}

// takePcapng takes packets up to a block that is incomplete in the window, or invalid.
func (r *Reader) takePcapng(out []Packet) (n int, problem string) {
	w, s := &r.window, &r.pcapng
	for n < len(out) {
		data := w.data[w.at:w.end]
		if len(data) < blockBytes {
			return n, ""
		}
		kind, length, problem := s.head(data)
		if problem != "" || uint64(length) > uint64(len(data)) {
			return n, problem
		}
		data = data[:length]
		switch kind {
		case blockEnhanced, blockObsolete, blockSimple:
			problem = r.packetBlock(kind, data, &out[n])
			if problem == "" {
				if r.chooser != nil {
					r.chooser.directions = append(r.chooser.directions[:n], s.direction)
					s.direction = AnyDirection
				}
				n++
			} else {
				problem = fmt.Sprintf("packet %s %s", terminal.Grouped(r.read+uint64(n)+1), problem)
			}
		default:
			problem = r.describe(kind, data)
		}
		if problem != "" {
			return n, problem
		}
		w.at += int(length)
	}
	return n, ""
}

// packetBlock parses a whole packet block, sections 4.3, 4.4 and A.
func (r *Reader) packetBlock(kind uint32, block []byte, p *Packet) (problem string) {
	s := &r.pcapng
	if s.u32(block[len(block)-4:]) != uint32(len(block)) {
		return "has two lengths that differ"
	}
	head := enhancedHead
	if kind == blockSimple {
		head = simpleHead
	}
	if len(block) < head+4 {
		return fmt.Sprintf("is in a block of %d bytes, too short for its kind", len(block))
	}
	var where, kept, length uint32
	switch kind {
	case blockEnhanced:
		where = s.u32(block[8:])
		kept, length = s.u32(block[20:]), s.u32(block[24:])
	case blockObsolete:
		where = uint32(s.u16(block[8:]))
		kept, length = s.u32(block[20:]), s.u32(block[24:])
	case blockSimple:
		length = s.u32(block[8:])
	}
	if uint64(where) >= uint64(len(s.timings)) {
		return fmt.Sprintf("is of interface %d, which the section has not described (it has %d)", where, len(s.timings))
	}
	where += s.first
	if kind == blockSimple {
		kept = min(length, uint32(len(block)-head-4), maxPacketBytes)
		if limit := r.info.Interfaces[where].SnapLength; limit > 0 {
			kept = min(kept, limit)
		}
		p.TimeNs = NoTime
	} else {
		ns, ok := s.timings[where-s.first].ns(uint64(s.u32(block[12:]))<<32 | uint64(s.u32(block[16:])))
		if !ok {
			return "has a time beyond the year 2262"
		}
		p.TimeNs = ns
	}
	if kept > maxPacketBytes || int(kept) > len(block)-head-4 {
		return fmt.Sprintf("claims to have %s bytes, in a block of %d", terminal.Grouped(uint64(kept)), len(block))
	}
	p.Data = block[head:][:kept:kept]
	p.Length = max(length, kept)
	p.Interface = where
	if options := head + int(kept+3)&^3; kind != blockSimple && len(block) > options+4 {
		r.packetOptions(where, block[options:len(block)-4])
	}
	if kind == blockObsolete {
		r.obsoleteDrops(where, s.u16(block[10:]))
	}
	return ""
}

// moreBlock reads the next whole block into the window, or skips one that is too large; false at
// the end for any reason.
func (r *Reader) moreBlock() bool {
	w, s := &r.window, &r.pcapng
	if !w.need(1) {
		r.ended()
		return false
	}
	if !w.need(blockBytes) {
		r.cut(fmt.Sprintf("the header of a block (%d of %d bytes)", w.end-w.at, blockBytes))
		return false
	}
	kind, length, problem := s.head(w.data[w.at:w.end])
	switch {
	case problem != "":
		r.broken(problem, "")
		return false
	case length <= maxBlockBytes:
		if !w.need(int(length)) {
			r.cut(fmt.Sprintf("a block of type %#x (%d of %d bytes)", kind, w.end-w.at, length))
			return false
		}
		return true
	}
	switch kind {
	case blockSection, blockInterface, blockObsolete, blockSimple, blockEnhanced:
		r.broken(fmt.Sprintf("a block of type %#x claims to have %s bytes, more than any (%s)", kind, terminal.Grouped(uint64(length)), terminal.Grouped(maxBlockBytes)), "")
		return false
	}
	if r.source.compression == Plain && w.offset()+int64(length) > r.source.size || w.skip(int64(length)) < int64(length) {
		r.cut(fmt.Sprintf("a block of type %#x of %s bytes", kind, terminal.Grouped(uint64(length))))
		return false
	}
	return true
}
