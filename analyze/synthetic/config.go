package synthetic

import (
	"fmt"
	"math"
)

// Config says what a pair of captures shows. Except for Packets, the zero value is a network that
// delivers UDP packets of 60 bytes (64 with the FCS) immediately.
type Config struct {
	// Seed of all randomness; the same seed gives the same pair.
	Seed uint64
	// Packets is the number of packets sent.
	Packets uint64
	// StartNs is the time of the first packet, by the clock of the first capture point.
	StartNs int64
	// GapNs is the time between sends, 1 µs if 0; with Poisson its mean.
	GapNs   int64
	Poisson bool
	// After every PauseEvery packets the sender pauses for PauseNs more.
	PauseEvery uint64
	PauseNs    int64

	// LatencyNs is the minimum latency; JitterNs is the mean of an exponentially distributed
	// addition. A fraction TailRatio of the packets gets up to TailNs more. The network still keeps
	// packets in order.
	LatencyNs, JitterNs int64
	TailRatio           float64
	TailNs              int64
	// ReorderRatio is the fraction of packets held back by ReorderNs while others pass.
	ReorderRatio float64
	ReorderNs    int64
	// LossRatio is the fraction of packets lost, in runs of LossRun on average (1 if 0).
	LossRatio float64
	LossRun   float64
	// DuplicatePre is the fraction of packets captured twice at the first point, DuplicatePost of
	// those that the network delivers twice.
	DuplicatePre, DuplicatePost float64

	// OffsetNs is how far the clock of the second capture point is ahead at the first packet,
	// DriftPPM how much faster it is in parts per million. After PostStepAfter sent packets it is
	// set by PostStepNs.
	OffsetNs      int64
	DriftPPM      float64
	PostStepAfter uint64
	PostStepNs    int64

	// Kinds are the kinds of packets, in rotation; UDP4 if empty. Flows is the number of source
	// ports, 1 if 0.
	Kinds []Kind
	Flows int
	// FrameBytes is a frame's length without FCS, raised to the minimum of its kind. 60 if 0. Jumbo
	// frames have 9014 bytes.
	FrameBytes int
	// FirstID is the id of the first packet; ids wrap at 2^32, or at IDModulo.
	FirstID  uint32
	IDModulo uint32
	// Payload is what a packet carries besides its id.
	Payload Payload
	// Routed puts a router in between: other MAC addresses, and a TTL lower by one.
	Routed bool
	// ChecksumsDiffer makes UDP and TCP checksums differ at the second capture point, as with
	// offloads.
	ChecksumsDiffer bool

	// Keep makes Truth record each packet.
	Keep bool
}

// Payload is what packets carry besides an id.
type Payload int

const (
	// Nines is the engine's payload: id, 0x55, flags, send lag, the low 48 bits of the send time, stream.
	Nines Payload = iota
	// MoonSniff is an id and 0x55, then zeros.
	MoonSniff
)

// Lost is the latency of a packet that did not arrive.
const Lost = math.MinInt64

// Truth is what really happened.
type Truth struct {
	// Sent = Received + Lost, each packet counted once.
	Sent, Received, Lost uint64
	// Pre and Post are the packets in each capture, including duplicates.
	Pre, Post                     uint64
	DuplicatesPre, DuplicatesPost uint64
	// Reordered counts arrivals after a packet that was sent later (RFC 4737).
	Reordered uint64
	// SentNs and LatencyNs have each packet in send order, by the time stamps in the captures, if
	// Config.Keep is set.
	SentNs, LatencyNs []int64
}

func (c Config) withDefaults() (Config, error) {
	if c.StartNs == 0 {
		c.StartNs = 1_700_000_000e9
	}
	if c.GapNs == 0 {
		c.GapNs = 1000
	}
	if c.LossRun < 1 {
		c.LossRun = 1
	}
	if len(c.Kinds) == 0 {
		c.Kinds = []Kind{UDP4}
	}
	if c.Flows == 0 {
		c.Flows = 1
	}
	if c.FrameBytes == 0 {
		c.FrameBytes = 60
	}
	for _, ratio := range []float64{c.TailRatio, c.ReorderRatio, c.LossRatio, c.DuplicatePre, c.DuplicatePost} {
		if !(ratio >= 0 && ratio <= 1) {
			return c, fmt.Errorf("a part of the packets is from 0 to 1, not %v", ratio)
		}
	}
	if min(c.GapNs, c.PauseNs, c.LatencyNs, c.JitterNs, c.TailNs, c.ReorderNs) < 0 {
		return c, fmt.Errorf("no gap, pause or latency can be negative: %+v", c)
	}
	if c.Flows < 1 || c.Flows > 1<<14 || c.FrameBytes < 0 || c.FrameBytes > 9014 {
		return c, fmt.Errorf("1 to 16384 flows of frames of up to 9014 bytes, not %d of %d", c.Flows, c.FrameBytes)
	}
	return c, nil
}
