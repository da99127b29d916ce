package client

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"
)

// Arrival is a measured packet that arrived.
type Arrival struct {
	// DueNs is when it was due, since the first measured packet was: exact to some nanoseconds. DueNs and LatencyNs is
	// when it was received.
	DueNs     int64
	LatencyNs int64
	// Long is true if the latency was longer than can be kept. LatencyNs is then too short, and DueNs too late.
	Long bool
	// SideB is true for a packet of a duet's second stream.
	SideB bool
	// Alone is true if nothing was under way when the packet was due: all earlier ones had arrived.
	Alone bool
}

// Next returns the packets that have come since it was last used up, in the order of their arrival.
func (a *Arrivals) Next() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		written := min(a.word(arrivalsWritten), a.word(arrivalsCapacity))
		measured, nsPerTick := a.word(arrivalsMeasuredTicks), a.word(arrivalsNsPerTick)
		for a.next < written {
			row := a.row(a.next)
			a.next++
			a.ticks += (row & arrivalsCarry) * arrivalsUnitTicks
			if row == arrivalsCarry {
				continue // no packet, but a long time without one
			}
			latency := row >> 32
			if !yield(Arrival{
				DueNs: spanNs(a.ticks, measured, nsPerTick) - int64(latency), LatencyNs: int64(latency), Long: latency == math.MaxUint32,
				SideB: row&arrivalsSideB != 0, Alone: row&arrivalsAlone != 0,
			}) {
				return
			}
		}
	}
}

// spanNs is the time between two readings of a counter.
func spanNs(ticks, since, nsPerTick uint64) int64 {
	if ticks < since {
		return -spanNs(since, ticks, nsPerTick)
	}
	high, low := bits.Mul64(ticks-since, nsPerTick)
	return int64(high<<8 | low>>56)
}

// Loss is a measured packet that did not arrive.
type Loss struct {
	DueNs int64 // since the first measured packet was due
	SideB bool  // of a duet's second stream
}

// Lost returns the lost packets of a trial that pauses, so far, or has ended, those of each stream in the order in which
// they were due.
func (a *Arrivals) Lost() iter.Seq[Loss] {
	return func(yield func(Loss) bool) {
		capacity := a.word(arrivalsCapacity)
		for i := range min(a.word(arrivalsLost), capacity) {
			row := a.row(capacity - 1 - i)
			if !yield(Loss{DueNs: int64(row &^ (1 << 63)), SideB: row>>63 != 0}) {
				return
			}
		}
	}
}

// Sent is a measured packet that was sent.
type Sent struct {
	DueNs, ReceivedNs int64 // since the first measured packet was due; ReceivedNs is NotReceived for a lost one
	SideB             bool  // of a duet's second stream
}

// NotReceived is when a lost packet was received.
const NotReceived = -1

// Take returns the packets that were due since it was last called, in the order in which they were due, also those that
// did not arrive. Call it in the state TrialPaused or TrialEnded, and do not call Next besides. A packet that arrives only
// after the pause by which it was lost is not returned again; Late counts these.
func (a *Arrivals) Take() []Sent {
	var sent []Sent
	for one := range a.Next() {
		if one.DueNs <= a.takenNs {
			a.late++
			continue
		}
		sent = append(sent, Sent{one.DueNs, one.DueNs + one.LatencyNs, one.SideB})
	}
	for one := range a.Lost() {
		if one.DueNs > a.takenNs {
			sent = append(sent, Sent{one.DueNs, NotReceived, one.SideB})
		}
	}
	slices.SortStableFunc(sent, func(x, y Sent) int { return cmp.Compare(x.DueNs, y.DueNs) })
	if len(sent) > 0 {
		a.takenNs = sent[len(sent)-1].DueNs
	}
	return sent
}

// Late is how many packets arrived after Take had returned them as lost.
func (a *Arrivals) Late() uint64 { return a.late }
