package analyze

import "slices"

// Keys that repeat: several packets of PRE have one, or one of PRE arrives several times.

// repeat is a further packet of a key, whose first entry is at a place.
type repeat struct{ first, packet uint32 }

// group sorts the packets of repeated keys, and leaves out copies and those too close together for a
// certain pair.
func (w *matcher) group() {
	w.groups = make(map[uint32][]uint32)
	for _, r := range w.repeats {
		members, ok := w.groups[r.first]
		if !ok {
			members = append(members, w.pre.entries.all[r.first-1].at)
		}
		w.groups[r.first] = append(members, r.packet)
	}
	for first, members := range w.groups {
		slices.Sort(members) // places are in time order
		members = w.withoutCopies(members)
		w.groups[first] = members
		for i := 1; i < len(members); i++ {
			if w.sentNs[members[i]]-w.sentNs[members[i-1]] < w.windowNs {
				w.receivedNs[members[i]], w.receivedNs[members[i-1]] = leftOut, leftOut
			}
		}
	}
}

// latest is the last packet of a key sent until ns; the first if none was.
func (w *matcher) latest(first, packet uint32, ns int64) uint32 {
	members, ok := w.groups[first]
	if !ok {
		return packet
	}
	n, _ := slices.BinarySearchFunc(members, ns+1, func(m uint32, ns int64) int { return compare(w.sentNs[m], ns) })
	return members[max(n-1, 0)]
}

// again is another arrival of a packet of PRE.
type again struct {
	packet uint32 // place in PRE, in time order
	ns     int64
}

// mostArrivals is how often the network may deliver one packet. A key that arrives more often says
// nothing of it: others have the same.
const mostArrivals = 8

// leaveOutRepeated leaves out packets that arrived too often.
func (m *matched) leaveOutRepeated(received []int64) {
	kept := m.again[:0]
	for rest := m.again; len(rest) > 0; {
		packet := rest[0].packet
		n := slices.IndexFunc(rest, func(a again) bool { return a.packet != packet })
		if n < 0 {
			n = len(rest)
		}
		if n < mostArrivals {
			kept = append(kept, rest[:n]...)
		} else {
			received[packet] = leftOut
			m.counts.Pairs -= uint64(n) + 1
			m.counts.PostAmbiguous += uint64(n) + 1
		}
		rest = rest[n:]
	}
	m.again = kept
}
