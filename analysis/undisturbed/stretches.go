package undisturbed

import (
	"cmp"
	"slices"
)

// stretches tell which packets an interruption touched. An interruption counts until the path is next empty: until a
// packet is due after all earlier ones were received. Before that, packets wait behind those that it held up.
//
// A packet is touched if such a stretch meets the time from when it was due to when it was received; a lost one, if it
// was due in a stretch.
type stretches struct {
	coming []listed
	// onBegin is called where a stretch begins; free is since when no other was open.
	onBegin func(first listed, free int64)

	open     bool  // a stretch is
	endNs    int64 // of its latest interruption
	freeNs   int64 // since when none is open
	latestNs int64 // at which an earlier packet was received
	gaps     []int64
}

// listed is an interruption with a margin.
type listed struct {
	Interruption
	beganNs int64 // as listed
	// always tells that one of that length is always listed.
	always bool
}

// marginNs is added to both ends of an interruption. A thread notes one from reading its clock before to reading it
// after; what it did in between, such as passing on a packet, may have been just before or after. One that a packet shows
// begins with that.
const marginNs = 300

// add takes more interruptions, which end after all packets so far were due.
func (s *stretches) add(cpu CPU) {
	for _, i := range cpu.Interruptions {
		one := listed{i, i.BeginNs, i.EndNs-i.BeginNs >= cpu.ThresholdNs}
		if one.EndNs += marginNs; !i.ByPacket {
			one.BeginNs = max(i.BeginNs-marginNs, 0)
		}
		s.coming = append(s.coming, one)
	}
	slices.SortFunc(s.coming, func(x, y listed) int { return cmp.Compare(x.BeginNs, y.BeginNs) })
}

// touch reports whether an interruption touched the next packet in the order in which they were due.
func (s *stretches) touch(p Packet) bool {
	s.reach(p.DueNs)
	if s.open && p.DueNs >= s.endNs && p.DueNs >= s.latestNs {
		s.open, s.freeNs = false, p.DueNs
	}
	s.latestNs = max(s.latestNs, p.ReceivedNs)
	return s.open || len(s.coming) > 0 && p.ReceivedNs > s.coming[0].BeginNs
}

// reach takes the interruptions that have begun at a time.
func (s *stretches) reach(ns int64) {
	for len(s.coming) > 0 && s.coming[0].BeginNs <= ns {
		next := s.coming[0]
		if !s.open {
			s.onBegin(next, s.freeNs)
			s.gaps = append(s.gaps, next.BeginNs-s.freeNs)
			s.open, s.endNs = true, next.EndNs
		}
		s.endNs = max(s.endNs, next.EndNs)
		s.coming = s.coming[1:]
	}
}

// exposure is that of the time up to now, when no packet is left on the path.
func (s *stretches) exposure(nowNs int64) exposure {
	s.reach(nowNs)
	gaps := s.gaps
	if !s.open {
		gaps = append(slices.Clip(gaps), nowNs-s.freeNs)
	}
	return newExposure(gaps, nowNs)
}
