package metrics

import (
	"fmt"
	"math"

	"nines.dev/nines/result"
)

// Lost is the receive time of a packet that was not received.
const Lost = math.MinInt64

// MaxPackets is the most packets in a stream: positions have 32 bits, like the ids on the wire.
const MaxPackets = math.MaxUint32

// Stream holds packets in send order. Times are nanoseconds of one clock, or of two, whose offset
// is then part of every delay.
type Stream struct {
	// SentNs is when each packet was sent, ReceivedNs when it was first received, or Lost.
	SentNs, ReceivedNs []int64
	// DueNs is when each packet was meant to be sent, if delays count from there, as in nines' own
	// measurements; nil counts them from SentNs.
	DueNs []int64
	// Arrival lists the received packets, by their index in SentNs, in order of arrival; nil uses
	// ReceivedNs. It gives the order of packets with equal receive times; without it, they count as
	// in order.
	Arrival []uint32
	// Duplicates is the number of packets received again.
	Duplicates uint64
}

// Of computes the metrics of one stream. It panics if the slices do not match.
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
		order = append([]uint32(nil), order...) // reordering overwrites it
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

// lossRuns counts the runs of consecutively lost packets, shortest first, and the packets lost.
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
