package synthetic

import (
	"fmt"
	"math"
)

// Config is what a pair of captures shows. The zero value of all but Packets stands for
// a network that passes UDP packets of 60 bytes (64 with the FCS) at once.
type Config struct {
	// Seed makes all that is random; the same one gives the same pair.
	Seed uint64
	// Packets is how many are sent.
	Packets uint64
	// StartNs is the time of the first, by the clock of the first capture point.
	StartNs int64
	// GapNs is the time from one send to the next, 1 µs if 0; with Poisson the mean of it.
	GapNs   int64
	Poisson bool
	// After every PauseEvery packets nothing is sent for PauseNs more.
	PauseEvery uint64
	PauseNs    int64

	// LatencyNs is the least latency; JitterNs the mean of what is added, exponentially
	// distributed. A part TailRatio of the packets gets up to TailNs more. The network
	// keeps packets in order nevertheless.
	LatencyNs, JitterNs int64
	TailRatio           float64
	TailNs              int64
	// ReorderRatio is the part of packets that are held back by ReorderNs while others
	// pass.
	ReorderRatio float64
	ReorderNs    int64
	// LossRatio is the part of packets lost, in runs of LossRun on average (1 if 0).
	LossRatio float64
	LossRun   float64
	// DuplicatePre and DuplicatePost are the parts of packets that are captured twice at
	// the first point, and that the network delivers twice.
	DuplicatePre, DuplicatePost float64

	// OffsetNs is by how much the clock of the second capture point is ahead at the
	// first packet, DriftPPM by how many parts in a million it is faster. After
	// PostStepAfter sent packets it is set by PostStepNs.
	OffsetNs      int64
	DriftPPM      float64
	PostStepAfter uint64
	PostStepNs    int64

	// Kinds are the packets' kinds, in turns; UDP4 if empty. Flows is over how many
	// source ports they are spread, 1 if 0.
	Kinds []Kind
	Flows int
	// FrameBytes is a frame's length without FCS; what is too short for its kind is
	// made longer. 60 if 0. Jumbo frames have 9014 bytes.
	FrameBytes int
	// FirstID is the id of the first packet; ids go on modulo 2^32, or modulo IDModulo.
	FirstID  uint32
	IDModulo uint32
	// Payload is what a packet carries besides its id.
	Payload Payload
	// Routed is a router in between: other MAC addresses, a TTL of one less.
	Routed bool
	// ChecksumsDiffer is a second capture point where UDP and TCP checksums are not
	// what they were, as with offloads.
	ChecksumsDiffer bool

	// Keep is whether Truth is to have each packet.
	Keep bool
}

// Payload is what packets carry besides an id.
type Payload int

const (
	// Nines is what the engine sends: id, 0x55, stream, send lag, time of sending.
	Nines Payload = iota
	// MoonSniff is an id and 0x55, then zeros.
	MoonSniff
)

// Lost is the latency of a packet that did not arrive.
const Lost = math.MinInt64

// Truth is what happened.
type Truth struct {
	// Sent = Received + Lost, each packet counted once.
	Sent, Received, Lost uint64
	// Pre and Post are how many packets each capture has, with duplicates.
	Pre, Post                     uint64
	DuplicatesPre, DuplicatesPost uint64
	// Reordered is how many arrived after one that was sent later (RFC 4737).
	Reordered uint64
	// SentNs and LatencyNs are those of each packet in the order of sending, as the time
	// stamps in the captures say, if Config.Keep is set.
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
