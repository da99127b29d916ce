package metrics

import (
	"fmt"
	"math"

	"nines.dev/nines/result"
)

// Lost stands for the receive time of a packet that was not received.
const Lost = math.MinInt64

// MaxPackets is the most that a stream may hold: positions have 32 bits, as the ids
// on the wire do.
const MaxPackets = math.MaxUint32

// Stream is packets in the order in which they were sent. Times are nanoseconds of
// one clock, or of two, whose distance then is a part of every delay.
type Stream struct {
	// SentNs is when each packet was sent, ReceivedNs when it was received for the
	// first time, or Lost.
	SentNs, ReceivedNs []int64
	// DueNs is when each was meant to be sent, if delays are to count from there, as
	// they do in nines' own measurements; nil counts them from SentNs.
	DueNs []int64
	// Arrival lists the packets received, by their place in SentNs, in the order in
	// which they were; nil goes by ReceivedNs. It tells the order of packets that
	// share a receive time; without it, they count as in order.
	Arrival []uint32
	// Duplicates is how many packets were received again.
	Duplicates uint64
}

// Of computes the metrics of one stream. It panics if the slices do not belong
// together.
func Of(name string, s Stream) result.FlowMetrics {
	s.check()
	due := s.DueNs
	if due == nil {
		due = s.SentNs
	}
	m := result.FlowMetrics{Flow: name, Sent: uint64(len(s.SentNs)), Duplicates: s.Duplicates}
	m.LossRuns, m.Lost = lossRuns(s.ReceivedNs)
	m.Received = m.Sent - m.Lost

	delay := delays(due, s.ReceivedNs)
	m.Latency = percentiles(delay)
	if m.Received > 0 {
		least := *m.Latency.Min
		m.PDV = shifted(m.Latency, -least)
	}
	var variation extremes
	m.IPDV = percentiles(absolute(variations(due, s.ReceivedNs), &variation))
	m.IPDVRange = variation.of
	m.GapsSent = percentiles(gaps(s.SentNs))

	order := s.Arrival
	if order == nil {
		order = arrival(s.ReceivedNs, int(m.Received))
	}
	m.GapsReceived = percentiles(gapsAlong(order, s.ReceivedNs))
	if s.Arrival != nil {
		order = append([]uint32(nil), order...) // reordering writes into it
	}
	m.Reordering = reordering(order, s.ReceivedNs)
	return m
}

func (s Stream) check() {
	n := len(s.SentNs)
	switch {
	case len(s.ReceivedNs) != n, s.DueNs != nil && len(s.DueNs) != n, len(s.Arrival) > n:
		panic(fmt.Sprintf("metrics: a stream of %d packets has %d receive times, %d due times and an arrival of %d",
			n, len(s.ReceivedNs), len(s.DueNs), len(s.Arrival)))
	case uint64(n) > MaxPackets:
		panic(fmt.Sprintf("metrics: a stream of %d packets is longer than %d", n, uint64(MaxPackets)))
	}
}

// lossRuns counts the runs of packets lost one after the other, the shortest first,
// and the packets lost.
func lossRuns(receivedNs []int64) (runs []result.LossRun, lost uint64) {
	counts := make(map[uint64]uint64)
	var run uint64
	for _, at := range receivedNs {
		if at == Lost {
			run++
			lost++
		} else if run > 0 {
			counts[run]++
			run = 0
		}
	}
	if run > 0 {
		counts[run]++
	}
	return sortedRuns(counts), lost
}
