package packetfile

import (
	"encoding/binary"
	"fmt"

	"nines.dev/nines/terminal"
)

// pcapng blocks without packets, which describe the packets.
const (
	interfaceBytes  = 20
	statisticsBytes = 24

	optionEnd        = 0
	optionName       = 2 // of an interface, like the next three
	optionResolution = 9
	optionFCS        = 13
	optionOffset     = 14
	optionStart      = 2 // of statistics, like the next three
	optionStop       = 3
	optionIfDrop     = 5
	optionOSDrop     = 7

	// maxInterfaces limits the memory for a file that holds nothing but interfaces.
	maxInterfaces = 1 << 16
	maxNameBytes  = 256
)

// describe takes a whole block without a packet. It skips unknown kinds, as the format requires.
func (r *Reader) describe(kind uint32, block []byte) (problem string) {
	s := &r.pcapng
	if kind == blockSection {
		return r.section(block)
	}
	if s.u32(block[len(block)-4:]) != uint32(len(block)) {
		return fmt.Sprintf("a block of type %#x has two lengths that differ", kind)
	}
	switch kind {
	case blockInterface:
		return r.anInterface(block)
	case blockStatistics:
		r.statistics(block)
	}
	return ""
}

// section starts a section: it drops the previous byte order and interfaces. Section 4.1.
func (r *Reader) section(block []byte) (problem string) {
	if len(block) < sectionBytes {
		return fmt.Sprintf("a section header of %d bytes, not at least %d", len(block), sectionBytes)
	}
	s := pcapngState{swapped: binary.LittleEndian.Uint32(block[8:]) != pcapngByteOrder, first: uint32(len(r.info.Interfaces))}
	if s.u32(block[len(block)-4:]) != uint32(len(block)) {
		return "a section header with two lengths that differ"
	}
	if major := s.u16(block[12:]); major != 1 {
		return fmt.Sprintf("a section of version %d.%d; only 1.x is known", major, s.u16(block[14:]))
	}
	if s.first == 0 {
		r.info.BigEndian = s.swapped
	}
	r.pcapng = s
	return ""
}

// anInterface takes an interface description block, section 4.2.
func (r *Reader) anInterface(block []byte) (problem string) {
	s := &r.pcapng
	if len(block) < interfaceBytes {
		return fmt.Sprintf("an interface described in %d bytes, not at least %d", len(block), interfaceBytes)
	}
	if len(r.info.Interfaces) == maxInterfaces {
		return fmt.Sprintf("more than %s interfaces", terminal.Grouped(maxInterfaces))
	}
	i := Interface{LinkType: LinkType(s.u16(block[8:])), SnapLength: s.u32(block[12:]), Resolution: Microseconds}
	offsetSeconds := int64(0)
	s.options(block[16:len(block)-4], func(code uint16, value []byte) {
		switch {
		case code == optionName:
			i.Name = string(value[:min(len(value), maxNameBytes)])
		case code == optionResolution && len(value) == 1:
			var ok bool
			if i.Resolution, ok = resolutionOf(value[0]); !ok {
				problem = fmt.Sprintf("an interface with time stamps finer than any clock (if_tsresol %#02x)", value[0])
			}
		case code == optionFCS && len(value) == 1:
			i.FCSBytes = int(value[0]) / 8
		case code == optionOffset && len(value) == 8:
			offsetSeconds = int64(s.u64(value))
		}
	})
	if problem == "" && (offsetSeconds > maxOffsetSeconds || offsetSeconds < -maxOffsetSeconds) {
		problem = fmt.Sprintf("an interface whose time stamps are off by %d s (if_tsoffset)", offsetSeconds)
	}
	if problem != "" {
		return problem
	}
	s.timings = append(s.timings, timingOf(i.Resolution, offsetSeconds))
	s.drops = append(s.drops, drops{})
	r.info.Interfaces = append(r.info.Interfaces, i)
	return ""
}

// statistics takes an interface statistics block, section 4.6: when the capture began and ended, and
// the packets not captured. Later blocks replace earlier ones.
func (r *Reader) statistics(block []byte) {
	s := &r.pcapng
	if len(block) < statisticsBytes {
		return
	}
	where := s.u32(block[8:])
	if uint64(where) >= uint64(len(s.timings)) {
		return
	}
	i, d := &r.info.Interfaces[s.first+where], &s.drops[where]
	d.statistics = 0
	s.options(block[20:len(block)-4], func(code uint16, value []byte) {
		if len(value) != 8 {
			return
		}
		switch code {
		case optionIfDrop, optionOSDrop:
			d.statistics += s.u64(value)
		case optionStart, optionStop:
			ns, ok := s.timings[where].ns(uint64(s.u32(value))<<32 | uint64(s.u32(value[4:])))
			switch {
			case !ok:
			case code == optionStart:
				i.StartNs = ns
			default:
				i.EndNs = ns
			}
		}
	})
	i.Dropped = d.all()
}

// options walks through options, section 3.5, up to the first incomplete one.
func (s *pcapngState) options(data []byte, each func(code uint16, value []byte)) {
	for len(data) >= 4 {
		code, length := s.u16(data), int(s.u16(data[2:]))
		padded := (length + 3) &^ 3
		if code == optionEnd || padded > len(data)-4 {
			return
		}
		each(code, data[4:][:length])
		data = data[4+padded:]
	}
}
