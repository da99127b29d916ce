package analyze

import (
	"encoding/binary"
	"time"

	"nines.dev/nines/analyze/packetfile"
)

// A capture can have a packet several times: at each interface that it passes (tcpdump -i any,
// dumpcap with several interfaces), or twice at one (a mirror port of both directions, bonding).
const (
	// copyNs is within how much time the same bytes at one interface are a copy.
	copyNs = int64(10 * time.Microsecond)
	// passNs is how long a packet may take from one interface of a host to another.
	passNs = int64(time.Second)
	// mostCopies is how often a packet may be there. What is there more often repeats.
	mostCopies = 8
	// copiesSample is of how many packets it is seen whether the capture copies, and copiesShare the
	// least share of them. Fewer may as well repeat, and are ambiguous, as in the published evaluation.
	copiesSample = 8192
	copiesShare  = 0.1
)

// copies reports whether a capture, in order of time, has packets twice at one interface.
func (s *side) copies() bool {
	seen, copies := 0, 0
	first := make(map[hash96]int64)
	for part := 0; part < len(s.chunks) && seen < copiesSample; part++ {
		s.partition(part, func(_ uint32, entries []entry) {
			for _, e := range entries[:min(len(entries), copiesSample-seen)] {
				seen++
				key, ns := hash96{e.hi, e.lo}, s.timesNs()[e.at]
				if before, ok := first[key]; ok && max(ns-before, before-ns) <= copyNs {
					copies++
				} else {
					first[key] = ns
				}
			}
		})
	}
	return float64(copies) >= copiesShare*float64(max(seen, 1))
}

// places are the interfaces of a capture's packets: nil if all are of one, as far as the file says.
type places struct {
	of []uint32
	// named has a number for each interface of the file: the same for those of one name.
	named []uint32
}

// see takes the interface of the packet at a place.
func (s *places) see(place int, interfaces []packetfile.Interface, p *packetfile.Packet) {
	at := uint32(0)
	switch link := interfaces[p.Interface].LinkType; {
	case link == packetfile.Cooked2 && len(p.Data) >= 20: // the kernel's index, and received or sent
		at = binary.BigEndian.Uint32(p.Data[4:])<<1 | uint32(p.Data[10]>>2&1)
	case link == packetfile.Cooked && len(p.Data) >= 16:
		at = uint32(p.Data[1] >> 2 & 1)
	case len(interfaces) > 1:
		at = s.name(interfaces, p.Interface)
	}
	if at == 0 && s.of == nil {
		return
	}
	for len(s.of) < place {
		s.of = append(s.of, 0)
	}
	s.of = append(s.of, at)
}

// name numbers interfaces by their names, as each file of a rotated capture describes them again;
// 0 for one without a name.
func (s *places) name(interfaces []packetfile.Interface, which uint32) uint32 {
	for i := len(s.named); i < len(interfaces); i++ {
		number := uint32(0)
		if interfaces[i].Name != "" {
			number = uint32(i) + 1
		}
		for earlier, n := range s.named {
			if n > 0 && interfaces[earlier].Name == interfaces[i].Name {
				number = n
				break
			}
		}
		s.named = append(s.named, number)
	}
	return s.named[which]
}

// at is the interface of a packet.
func (s *places) at(packet uint32) uint32 {
	if int(packet) >= len(s.of) {
		return 0
	}
	return s.of[packet]
}

// order reorders the packets' interfaces by time.
func (s *places) order(file []uint32) {
	if s.of == nil {
		return
	}
	before := s.of
	s.of = make([]uint32, len(file))
	for place, packet := range file {
		if int(packet) < len(before) {
			s.of[place] = before[packet]
		}
	}
}

// withoutCopies leaves out the packets of a key, in order of time, that are copies of an earlier one.
func (w *matcher) withoutCopies(members []uint32) []uint32 {
	kept := members[:0:0]
	copies := members[:0:0]
	of := 0 // copies of the last one kept
	for _, m := range members {
		if len(kept) > 0 && of < mostCopies && w.isCopy(kept[len(kept)-1], m) {
			copies = append(copies, m)
			of++
			continue
		}
		kept, of = append(kept, m), 0
	}
	for _, m := range copies {
		w.receivedNs[m] = leftOut
	}
	w.counts.PreCopies += uint64(len(copies))
	return kept
}

func (w *matcher) isCopy(first, packet uint32) bool {
	apart := w.sentNs[packet] - w.sentNs[first]
	if w.pre.places.at(first) != w.pre.places.at(packet) {
		return apart < passNs
	}
	return w.copies && apart <= copyNs
}
